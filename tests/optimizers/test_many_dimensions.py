"""Domains with hundreds of coordinates."""

import pytest

from sktvbo import BOLT, WDBO

NAMED = {f"choice {i}": ("categorical", ["a", "b", "c", "d"]) for i in range(30)}


@pytest.mark.parametrize("kind", [WDBO, BOLT])
@pytest.mark.parametrize("domain", [NAMED, [(0.0, 1.0)] * 118, [(0.0, 1.0)] * 301], ids=len)
def test_observations_are_forgotten_in_hundreds_of_dimensions(kind, domain):
    options = {"max_size": 10} if kind is BOLT else {"alpha": 5.0}
    opt = kind(domain, n_initial_points=11, random_state=0, **options)
    for t in range(16):
        x = opt.ask(t)
        opt.tell(x, float(t % 5))
    assert opt.n_removed_ > 0
