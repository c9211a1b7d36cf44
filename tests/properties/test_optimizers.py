"""Any sequence of calls on any algorithm: the optimizer has what it was told, and no more."""

import copy
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from contract.cases import BY_NAME, DOMAINS, fingerprint, same_state, space
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sktvbo.exceptions import AskTellError


class Calls(RuleBasedStateMachine):
    """One optimizer, a model of what it must hold, and calls in any order."""

    name = None

    @initialize(
        domain=st.sampled_from(sorted(DOMAINS)), seed=st.integers(0, 3), written=st.booleans()
    )
    def begin(self, domain, seed, written):
        self.case, self.domain, self.rng = BY_NAME[self.name], domain, np.random.RandomState(seed)
        parameters = {"random_state": seed, "refit_every": 3} if self.case.modelled else {}
        self.folder = tempfile.mkdtemp() if written else None
        self.opt = self.case.make(domain, **parameters, **self.journal())
        self.now, self.told, self.pending = 0.0, [], []
        self.failed = 0

    def journal(self):
        return {} if self.folder is None else {"journal": str(Path(self.folder) / "run.db")}

    def teardown(self):
        if getattr(self, "folder", None) is not None:
            self.opt.close()
            shutil.rmtree(self.folder)

    def new_time(self, step):
        self.now += step
        return self.now

    def value(self):
        return float(self.rng.normal())

    def row(self, x):
        return space(self.domain).validate_point(x)

    def note(self, x, y, t):
        self.told.append((self.row(x), y, t))

    def would_answer(self, rows):
        """Return True if one of these rows is the place of a pending query."""
        return any(np.array_equal(self.row(x), row) for x, _ in self.pending for row in rows)

    steps = st.sampled_from([0.0, 0.5, 1.0, 30.0])

    @rule(step=steps, size=st.sampled_from([None, None, 1, 2]))
    def ask(self, step, size):
        t = self.new_time(step)
        found = self.opt.suggest(t, size)
        for query in [found] if size is None else found:
            assert query.t >= t
            self.row(query.x)
            self.pending.append((query.x, query.t))

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def tell_what_was_asked(self, data):
        i, by_handle = data.draw(st.integers(0, len(self.pending) - 1)), data.draw(st.booleans())
        x, t = self.pending.pop(i)
        y, query = self.value(), self.opt.pending_[i]
        assert query.t == t
        if by_handle:
            self.opt.tell(query, y)
        else:
            self.opt.tell(x, y, t)
        self.note(x, y, t)
        self.now = max(self.now, t)

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def tell_that_it_failed(self, data):
        i = data.draw(st.integers(0, len(self.pending) - 1))
        self.opt.tell(self.opt.pending_[i], failed=True)
        _, t = self.pending.pop(i)
        self.now = max(self.now, t)
        self.failed += 1

    @rule(step=st.sampled_from([-100.0, -1.0, 0.0, 2.0]))
    def tell_something_else(self, step):
        rows = space(self.domain).sample(1, self.rng)
        if self.would_answer(rows):
            return
        x, y, t = space(self.domain).decode(rows[0]), self.value(), self.now + step
        self.opt.tell(x, y, t)
        self.note(x, y, t)
        self.now = max(self.now, t)

    @rule(size=st.integers(1, 3), step=st.sampled_from([0.0, 2.0]))
    def tell_many(self, size, step):
        rows = space(self.domain).sample(size, self.rng)
        if self.would_answer(rows):
            return
        X = [space(self.domain).decode(row) for row in rows]
        y, t = [self.value() for _ in X], self.now + step + np.arange(float(size))
        self.opt.tell_many(X, y, t)
        for one in zip(X, y, t, strict=True):
            self.note(*one)
        self.now = t[-1]

    @precondition(lambda self: self.told and not self.failed)
    @rule()
    def untell(self):
        self.opt.untell()
        self.told.pop()

    @precondition(lambda self: self.pending)
    @rule()
    def cancel(self):
        self.opt.cancel(self.pending[0][0])
        self.pending.pop(0)

    @precondition(lambda self: self.case.modelled and self.case.name != "thompson")
    @rule(step=st.sampled_from([-50.0, 0.0, 10.0]))
    def recommend(self, step):
        before = fingerprint(self.opt)
        try:
            x = self.opt.recommend(self.now + step)
        except AskTellError:
            assert len(self.told) < self.opt.n_initial_points
        else:
            self.row(x)
        assert fingerprint(self.opt) == before

    @precondition(lambda self: self.case.expert and self.told)
    @rule()
    def consult(self):
        self.case.consult(self.opt, self.now, self.domain)

    @rule(how=st.sampled_from(["pickle", "copy", "plain"]))
    def replace(self, how):
        before, kind = self.opt, type(self.opt)
        self.opt.close()
        if how == "pickle":
            self.opt = pickle.loads(pickle.dumps(self.opt))
        elif how == "copy":
            self.opt = copy.deepcopy(self.opt)
        elif self.folder is None:
            self.opt = kind.from_json(self.opt.to_json())
        elif "_run" in vars(self.opt):
            self.opt = kind.resume(**self.journal())
        same_state(self.opt, before)

    @invariant()
    def holds_what_is_pending(self):
        if hasattr(self, "opt"):
            assert self.opt.n_failed_ == len(self.opt.failed_X_) == self.failed
            assert [query.t for query in self.opt.pending_] == [t for _, t in self.pending]

    @invariant()
    def holds_what_it_was_told(self):
        if not getattr(self, "told", None):
            return
        opt = self.opt
        assert opt.n_told_ == len(self.told)
        rows = np.array([[*x, t] for x, _, t in self.told])
        np.testing.assert_array_equal(opt.told_X_, rows)
        np.testing.assert_array_equal(opt.told_y_, [y for _, y, _ in self.told])
        assert len(opt.y_) == opt.n_told_ - opt.n_removed_ >= 1
        everything = {(*row, y) for row, y in zip(opt.told_X_, opt.told_y_)}
        assert {(*row, y) for row, y in zip(opt.X_, opt.y_)} <= everything
        if getattr(opt, "surrogate_", None) is not None:
            assert len(opt.surrogate_.X_train_) == len(opt.y_)
            assert np.isfinite(opt.surrogate_.predict(opt.surrogate_.X_train_)).all()


@pytest.mark.parametrize("name", BY_NAME)
def test_any_sequence_of_calls(name):
    machine = type(name, (Calls,), {"name": name})
    n = settings.default.max_examples
    # The suite's few examples are shared by the algorithms.
    few = settings(settings.default, max_examples=max(n // 12, 1), stateful_step_count=25)
    run_state_machine_as_test(machine, settings=few)
