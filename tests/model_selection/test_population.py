"""Gains, leads, and who becomes the champion."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from sktvbo import WDBO, RandomSearch
from sktvbo.domain import ParameterSpace
from sktvbo.model_selection._evidence import Evidence
from sktvbo.model_selection._mixture import Weights
from sktvbo.model_selection._population import Member, Population, paired_gains
from sktvbo.model_selection._tuner import default_optimizer

SPACE = ParameterSpace({"a": ("real", 0.0, 1.0)})


def population(n_challengers=2, optimizer=None, seed=0, n_standing=0):
    optimizer = RandomSearch(SPACE, random_state=0) if optimizer is None else optimizer
    members = (Member({"a": 0.5}, "champion"),)
    return Population(members, optimizer, seed).joined(
        n_challengers, lambda s: f"learner {s['a']}", n_standing
    )


# --- gains ----------------------------------------------------------------------------------------


def test_without_knowledge_gains_are_differences_to_the_champion(rng):
    losses = rng.uniform(size=(30, 4))
    gains, variances = paired_gains(losses)
    assert_allclose(gains, losses[:, 0].mean() - losses.mean(axis=0))
    assert gains[0] == 0.0
    differences = losses[:, :1] - losses
    expected = (differences.var(axis=0, ddof=1) + losses[:, 0].var(ddof=1)) / 30
    assert_allclose(variances, expected)


def test_gains_do_not_know_how_hard_the_rows_are(rng):
    losses, hard = rng.uniform(size=(30, 4)), rng.exponential(size=(30, 1))
    for expected in (None, rng.normal(size=4)):
        assert_allclose(
            paired_gains(losses + hard, expected)[0],
            paired_gains(losses, expected)[0],
            atol=1e-12,
        )


def test_expected_gains_put_rounds_with_other_members_on_one_scale(rng):
    true = np.array([0.3, 0.1, 0.8, 0.5])
    for members in ([0, 1], [2, 3], [3, 0, 1]):
        losses = 7.0 - np.tile(true[members], (20, 1)) + rng.exponential(size=(20, 1))
        assert_allclose(paired_gains(losses, true[members])[0], true[members])
        to_champion = paired_gains(losses)[0]
        assert np.abs(to_champion - true[members]).max() > 0.05


def test_who_failed_has_no_gain_and_does_not_matter_to_the_others(rng):
    losses, expected = rng.uniform(size=(20, 3)), np.array([0.1, 0.2, 9.0])
    failed = losses.copy()
    failed[3, 2] = np.nan
    gains, _ = paired_gains(failed, expected)
    assert np.isnan(gains[2])
    assert_allclose(gains[:2], paired_gains(losses[:, :2], expected[:2])[0])


# --- rounds ---------------------------------------------------------------------------------------


def losses_of(means, n=60, seed=0):
    """Losses (n, m) with these means, of rows that are hard for all or for none."""
    rng = np.random.RandomState(seed)
    return rng.exponential(size=(n, 1)) + np.array(means) + 0.01 * rng.normal(size=(n, len(means)))


def test_the_better_challenger_becomes_the_champion():
    before = population()
    after = before.scored(losses_of([1.0, 0.9, 0.5])).judged(0.9)
    assert after.champion.learner is before.members[2].learner
    assert len(after.members) == 1  # nobody is probably better than that
    entry = after.rounds[0]
    assert entry.promoted == 2
    assert entry.settings == before.settings
    assert entry.probabilities[2] > entry.probabilities[1] > 0.9


def test_whoever_is_probably_better_than_the_new_champion_goes_on():
    before = population(3)
    losses = losses_of([1.0, 0.9, 0.5, 0.5])
    # A little better in the mean, and less surely better than the old champion.
    losses[:, 3] = losses[:, 2] - np.tile([1.1, -1.0], 30)
    after = before.scored(losses).judged(0.9)
    assert after.rounds[0].promoted == 2
    assert [m.learner for m in after.members] == [before.members[i].learner for i in (2, 3)]
    d = losses[:, 2] - losses[:, 3]
    assert_allclose(after.evidence.total[0, 1], d.sum())
    assert_allclose(after.evidence.squares[0, 1], (d * d).sum())


def test_nobody_better_changes_nothing_but_the_challengers():
    before = population()
    losses = losses_of([1.0, 1.1, 1.0])
    losses[:, 2] = losses[:, 0] - np.tile([0.02, -0.01], 30)  # z = 2.4
    after = before.scored(losses).judged(0.999)
    assert after.rounds[0].promoted == 0
    assert [m.learner for m in after.members] == [before.members[i].learner for i in (0, 2)]
    assert after.evidence.total[0, 1] > 0.0


def test_who_goes_on_adds_to_the_evidence():
    p, evidence = population(1), Evidence().joined(1)
    for i in range(3):
        d = 0.3 + np.random.RandomState(i).normal(size=10)
        losses = np.column_stack([2.0 + d, np.full(10, 2.0)])
        p = p.scored(losses).judged(0.9999)
        assert len(p.members) == 2
        evidence = evidence.faded(0.9).after(losses)
    assert_allclose(p.rounds[2].probabilities, evidence.over(0))


def test_the_batches_of_a_round_are_seen_one_by_one():
    p, rng = population(1), np.random.RandomState(0)
    for _ in range(6):  # the rows of a batch err together
        d = rng.normal() + 0.1 * rng.normal(size=10)
        p = p.scored(np.column_stack([2.0 + d, np.full(10, 2.0)]))
    judged = p.judged(0.9999)
    d = np.concatenate([losses[:, 0] - losses[:, 1] for losses in p.pending])
    z = abs(d.sum() / np.sqrt((d * d).sum()))
    assert 0.0 < abs(judged.rounds[0].probabilities[1] - 0.5) < norm.cdf(0.3 * z) - 0.5


def test_rounds_on_the_same_rows_count_once():
    losses = losses_of([1.0, 1.0], n=20)
    losses[:, 1] = losses[:, 0] - np.tile([0.02, -0.01], 10)
    twice = population(1)
    for _ in range(2):
        twice = twice.scored(losses).judged(0.999999, fresh_rows=False)
    once = population(1).scored(losses).judged(0.999999, fresh_rows=False)
    assert twice.rounds[1].probabilities[1] == once.rounds[0].probabilities[1]


def test_a_challenger_that_does_what_the_champion_does_makes_room():
    losses = losses_of([1.0, 1.0, 1.0])
    losses[:, 1] = losses[:, 0]
    after = population().scored(losses).judged(0.9)
    assert population().members[1].learner not in [m.learner for m in after.members]


def test_a_failure_is_as_bad_as_the_worst_that_counts_and_never_promoted():
    losses = losses_of([1.0, 0.9, 1e9])
    losses[:, 1] = np.nan
    after = population().scored(losses).judged(0.9)
    entry = after.rounds[0]
    assert entry.promoted == 0
    assert entry.probabilities[1] == 0.0
    assert_allclose(entry.gains, [0.0, -losses[:, 0].mean(), -losses[:, 0].mean()])
    assert_allclose(after.optimizer.told_y_, entry.gains)


def test_batches_add_up_to_a_round():
    losses = losses_of([1.0, 0.9, 0.8])
    whole = population().scored(losses).judged(0.9)
    parts = population().scored(losses[:1]).scored(losses[1:])
    assert parts.n_pending == 60
    parts = parts.judged(0.9)
    assert parts.n_pending == 0
    assert_allclose(parts.rounds[0].gains, whole.rounds[0].gains)
    assert_allclose(parts.total_loss, losses[:, 0].sum())


def test_a_round_changes_no_earlier_value():
    before = population().scored(losses_of([1.0, 0.9, 0.5]))
    kept = copy.deepcopy(before)
    before.judged(0.9).joined(2, str)
    assert before.settings == kept.settings
    assert not hasattr(before.optimizer, "told_y_") or len(before.optimizer.told_y_) == 0
    assert len(before.rounds) == 0


def test_the_optimizer_finds_the_best_setting_through_hard_and_easy_rounds():
    # The loss is (a - 0.8)² and how hard the round is, which varies twenty times as much.
    opt = default_optimizer(5).set_params(domain=SPACE, random_state=0)
    p, rng = population(4, opt), np.random.RandomState(0)
    for _ in range(20):
        means = [(s["a"] - 0.8) ** 2 + 3.0 * rng.uniform() for s in p.settings[:1]]
        hard = means[0] - (p.settings[0]["a"] - 0.8) ** 2
        means = [hard + (s["a"] - 0.8) ** 2 for s in p.settings]
        noise = 0.1 * rng.normal(size=(50, len(means)))
        p = p.scored(np.abs(np.array(means) + noise)).judged(0.9).joined(4, lambda s: "learner")
    assert abs(p.optimizer.recommend(20.0)["a"] - 0.8) < 0.08
    assert abs(p.champion.setting["a"] - 0.8) < 0.15


def test_newcomers_are_where_the_gain_may_be_largest():
    opt = default_optimizer(5).set_params(domain=SPACE, random_state=0)
    p = population(4, opt)
    assert len(p.members) == 5  # all asked for: nothing is known
    for i in range(12):
        p = p.scored(losses_of([s["a"] for s in p.settings], seed=i)).judged(0.9999)
        p = p.joined(4, lambda s: "learner")
    alone = replace(p, members=p.members[:1])
    found = [replace(alone, seed=s).joined(4, lambda s: "learner").settings for s in range(8)]
    assert found[0] != found[1]
    assert np.mean([s["a"] < 0.25 for settings in found for s in settings[1:]]) > 0.75


def test_the_ends_of_a_range_are_looked_at_like_the_rest():
    """Unlike what an optimizer does by default: the best setting is often there."""
    assert WDBO()._make_acquisition().margin > 0.0
    assert default_optimizer(5).acquisition.margin == 0.0


def test_newcomers_are_new_where_there_is_something_new():
    space = ParameterSpace({"a": ("categorical", ["p", "q", "r"])})
    opt = default_optimizer(3).set_params(domain=space, random_state=0)
    p = Population((Member({"a": "p"}, "champion"),), opt, 0).joined(2, lambda s: "learner")
    for _ in range(3):
        p = p.scored(losses_of([1.0] + [1.1] * 2)).judged(0.9).joined(2, lambda s: "learner")
    assert {s["a"] for s in p.settings} == {"p", "q", "r"}


def test_who_stands_stays_unless_it_fails_or_the_rows_are_not_fresh():
    before = population(3, n_standing=2)
    assert [m.standing for m in before.members] == [False, True, True, False]
    losses = losses_of([1.0, 1.2, 1.3, 1.2])
    after = before.scored(losses).judged(0.9)
    assert after.members == before.members[:3]
    assert before.scored(losses).judged(0.9, fresh_rows=False).members == before.members[:1]
    failed = replace(before.members[1], learner=None)
    broken = replace(before, members=(before.members[0], failed, *before.members[2:]))
    assert broken.scored(losses).judged(0.9).members == (before.members[0], before.members[2])
    assert not any(m.standing for m in after.joined(4, str).members[3:])


@pytest.mark.parametrize(("saved", "share"), [(-np.inf, 0.0), (0.0, 0.25), (np.inf, 0.5)])
def test_a_classifier_that_errs_more_has_weight_as_probably_as_that_saves_errors(saved, share):
    weights = Weights.before(np.array(["a", "b"]), classifier=True).joined(5)
    weights = weights.after(np.array([[0.0, 0.0, 3.0, 3.0, 3.0, 3.0]]))
    weights = replace(weights, saved=saved, saved_squares=1.0)
    before = replace(population(2, n_standing=2), weights=weights, classes=np.array(["a", "b"]))
    p = before.scored(losses_of([1.0, 1.5, 1.0])).judged(0.9)
    place = [m.learner for m in p.members].index(before.members[1].learner)
    assert_allclose(p.weights.shares.reshape(-1, 2)[place].sum(), share)


def test_of_regressors_none_is_barred():
    weights = Weights.before(np.arange(3.0), classifier=False).joined(2)
    weights = weights.after(np.array([[0.0, 3.0, 3.0]]))
    p = replace(population(2, n_standing=2), weights=weights)
    p = p.scored(losses_of([1.0, 1.5, 1.0])).judged(0.9)
    assert_allclose(np.sort(p.weights.shares), [0.0, 0.5, 0.5])


def test_classifiers_remember_what_they_were_after_the_latest_rounds():
    classes = np.array(["a", "b"])
    weights = Weights.before(classes, classifier=True).joined(3)
    p = replace(population(1, n_standing=1), weights=weights, classes=classes)
    for i in range(5):
        p = p.scored(losses_of([1.0, 1.1], seed=i)).judged(0.9)
        learnt = (replace(m, learner=f"{j} {i}") for j, m in enumerate(p.members))
        p = replace(p, members=tuple(learnt))
    assert p.members[1].earlier == ("1 3", "1 2", "1 1")
    assert p.joined(2, str).members[2].earlier == p.champion.earlier  # whose copy it is
    assert len(p.joined(2, str).weights.total) == 6


def test_a_champion_that_diverges_is_replaced_at_once():
    losses = losses_of([1.0, 1.0])
    losses[:, 0] = np.logspace(2, 61, 60)  # the largest would be all that is known
    before = population(1)
    after = before.scored(losses, served=np.full(60, 2.0)).judged(0.9)
    assert after.champion.learner is before.members[1].learner


def test_gains_count_less_a_round_later():
    weights = Weights.before(np.arange(3.0), classifier=False).joined(2)
    weights = weights.after(np.array([[0.0, 1.0, 2.0]]))
    before = replace(population(2, n_standing=2), weights=weights)
    after = before.scored(losses_of([1.0, 1.2, 1.3])).judged(0.9)
    assert_allclose(after.weights.n_batches, 0.95 * weights.n_batches)
    assert_allclose(after.weights.total, 0.95 * weights.total)
