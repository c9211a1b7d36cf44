"""``random_state`` takes a NumPy Generator wherever it takes a RandomState."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from stored import copied, read

import sktvbo
from sktvbo import (
    RandomSearch,
    TimeVaryingGPRegressor,
    dpp,
    optimize,
)
from sktvbo.domain import Box
from sktvbo.exceptions import JournalError

BITS = [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64]

BOX = Box([(0.0, 1.0), (0.0, 1.0)])
X = np.random.RandomState(0).uniform(size=(30, 2))
Y = np.sin(5.0 * X[:, 0])


def generator(seed=3, bits=np.random.PCG64):
    return np.random.Generator(bits(seed))


def optimized(r):
    options = {"optimizer": "RandomSearch", "n_calls": 3, "random_state": r}
    return optimize(lambda x, t: x[0], [(0, 1)], **options).optimizer.told_X_[:, 0]


CALLS = {
    "sample_y": lambda r: (
        TimeVaryingGPRegressor(optimizer=None).fit(X, Y).sample_y(X[:2], random_state=r)
    ),
    "sample_kdpp": lambda r: dpp.sample_kdpp(RBF(0.3)(X), 4, random_state=r),
    "optimize": optimized,
    "sample": lambda r: BOX.sample(4, r),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_takes_a_generator(name):
    call = CALLS[name]
    first, again, other = (call(generator(seed)) for seed in (3, 3, 4))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_no_module_reads_random_states_otherwise():
    other = re.compile(r"sklearn\S*( import .*)?\bcheck_random_state")
    modules = Path(sktvbo.__file__).parent.rglob("*.py")
    assert [path.name for path in modules if other.search(path.read_text())] == ["_validation.py"]


def test_a_function_draws_from_the_callers_generator():
    rng, twin = generator(), generator()
    BOX.sample(2, rng)
    assert rng.random() != twin.random()


@pytest.mark.parametrize("bits", BITS)
def test_a_run_copies_the_callers_generator(bits):
    rng = generator(3, bits)
    state = pickle.dumps(rng)
    opt = RandomSearch(BOX, random_state=rng)
    opt.tell(opt.ask(0.0), 1.0)
    assert pickle.dumps(rng) == state
    rng.random()
    twin = RandomSearch(BOX, random_state=generator(3, bits))
    twin.ask(0.0)
    assert_array_equal(opt.ask(1.0), twin.ask(1.0))
    assert opt.get_params()["random_state"] is rng


def test_states_are_restored_to_the_bit():
    for bits in BITS:
        for rng in (generator(5, bits), np.random.RandomState(bits(5))):
            rng.normal(size=3)  # a RandomState has another one in store
            again = copied(rng)
            assert type(again) is type(rng)
            assert_array_equal(again.normal(size=5), rng.normal(size=5))
    with pytest.raises(JournalError, match="'system' is no bit generator of NumPy"):
        read({"#": "RandomState", "state": {"bit_generator": "system"}})
