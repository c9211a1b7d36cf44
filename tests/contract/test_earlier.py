"""Earlier runs as a prior: every algorithm with a model, every form in which they are given."""

import copy
import pickle
from functools import cache

import numpy as np
from contract.cases import BY_NAME, ROUNDING, in_turns, objective
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sktvbo.journal import Journal
from sktvbo.optimizers import BayesianOptimizer

N_EARLIER = 30


@cache
def _finished(name, domain="box"):
    """Return an optimizer after a run from which others learn."""
    case = BY_NAME[name]
    opt = case.make(domain, refit_every=10)
    case.drive(opt, N_EARLIER, domain=domain)
    return opt


def _finished_with(case, path):
    """Return the same with a journal, which is closed."""
    opt = case.make(refit_every=10, journal=path)
    case.drive(opt, N_EARLIER)
    opt.close()
    return opt


def test_all_forms_are_the_same_prior(few_modelled, tmp_path):
    path = tmp_path / "run.db"
    opt = _finished_with(few_modelled, path)
    priors = [
        few_modelled.make(earlier=[given]).prior_ for given in (opt, opt.to_json(), path, str(path))
    ]
    text = priors[0].to_json()
    assert all(repr(prior) == repr(priors[0]) for prior in priors)
    assert few_modelled.make(earlier=priors[0]).prior_.to_json() == text
    assert few_modelled.make(earlier=text).prior_.to_json() == text
    assert f"{N_EARLIER} observations" in repr(priors[0])


@in_turns("domain", ["box", "finite", "named"])
def test_a_run_begins_where_an_earlier_one_was(few, domain):
    case = few
    if not case.modelled:
        return
    earlier = _finished(case.name, domain)
    opt = case.make(domain, n_initial_points="auto", earlier=[earlier])
    (first,) = case.drive(opt, 1, domain=domain)
    assert np.any([_same(first, x) for x in _points(earlier)])  # where it asked
    case.drive(opt, 6, start=1, domain=domain)
    assert opt.surrogate_ is not None


def _points(opt):
    return opt._run.domain.decode_all(opt.told_X_[:, :-1])


def _same(x, y):
    return x == y if isinstance(x, dict) else np.array_equal(x, y)


def test_a_run_needs_the_earlier_ones_only_to_begin(few_modelled, tmp_path):
    path, own = tmp_path / "earlier.db", tmp_path / "own.db"
    _finished_with(few_modelled, path)
    opt = few_modelled.make(earlier=[path], journal=own)
    few_modelled.drive(opt, 7)
    opt.close()
    path.unlink()
    resumed = BayesianOptimizer.resume(own)
    restored = BayesianOptimizer.from_json(opt.to_json())
    # The file is gone, and what the program gives again is not read.
    resumed.close()
    again = few_modelled.make(earlier=[path], journal=Journal(own, resume=True))
    text = opt.prior_.to_json()
    copies = [each.with_parameters(journal=None) for each in (opt, restored, again)]
    assert [each.prior_.to_json() for each in copies] == [text] * 3
    assert [each.n_told_ for each in copies] == [7] * 3
    if not few_modelled.expert:
        known, *others = [each.ask(7.0) for each in copies]
        assert_allclose(others, [known, known], atol=ROUNDING)


def test_copies_have_the_earlier_runs(few_modelled):
    earlier = _finished(few_modelled.name)
    opt = few_modelled.make(earlier=[earlier])
    text = opt.prior_.to_json()
    copied = clone(opt)
    assert copied.get_params()["earlier"] == [earlier]
    for other in (copied, copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))):
        assert other.prior_.to_json() == text
    assert type(opt).from_json(opt.to_json()).prior_.to_json() == text


def test_a_run_may_get_earlier_ones_later(few_modelled):
    opt = few_modelled.make()
    few_modelled.drive(opt, 7)
    told = opt.with_parameters(earlier=[_finished(few_modelled.name)])
    assert opt.prior_ is None
    assert "1 earlier run" in repr(told.prior_)
    assert_array_equal(told.told_y_, opt.told_y_)
    few_modelled.drive(told, 2, start=7)
    assert told.with_parameters(max_step=0.5).prior_.to_json() == told.prior_.to_json()
    assert told.with_parameters(earlier=None).prior_ is None


def test_the_earlier_run_stays(few_modelled):
    earlier = copy.deepcopy(_finished(few_modelled.name))
    before = earlier.to_json()
    opt = few_modelled.make(earlier=[earlier])
    few_modelled.drive(opt, 7)
    text = opt.prior_.to_json()
    assert earlier.to_json() == before
    few_modelled.drive(earlier, 1, start=N_EARLIER)
    assert opt.prior_.to_json() == text  # that of when it began
    assert objective(opt.recommend(7.0), 7.0) > 0.0
