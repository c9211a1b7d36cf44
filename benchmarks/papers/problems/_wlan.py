"""Wireless network with moving users: tune the transmission powers of its nodes."""

import math
from itertools import product

import numpy as np
from scipy.optimize import minimize

from sktvbo._validation import check_choice, check_int, check_real
from sktvbo._values import distinct_rows
from sktvbo.problems._base import Problem, by_parts, seed_of_function
from sktvbo.problems._registry import register

_POWERS = 10.0**0.1, 10.0**2.5  # mW
_LOG_POWERS = np.log(_POWERS)
_CELL = 25.0  # m
_SPEEDS = 0.5, 1.5  # m/s
_LOSS_AT_1_M = 40.05  # dB, of free space at 2.4 GHz
_LOSS_EXPONENT = 3.0
_NOISE_DENSITY = -174.0 + 7.0  # dBm / Hz: thermal at 290 K, and a receiver's noise figure
_MAX_NODES = 8
# Search for the optimum: levels of a node's power, sweeps over all nodes, and starts of a descent.
_N_LEVELS, _N_TURNS, _N_STARTS = 9, 4, 8


def _walk(arena, horizon, seed):
    """Return times (k,) and positions (k, 2) of a user's waypoints up to the horizon or beyond."""
    rng = np.random.RandomState(seed)
    times, places = [0.0], [arena * rng.uniform(size=2)]
    while times[-1] < horizon:
        *place, speed = rng.uniform(size=3)
        places.append(arena * place)
        speed = _SPEEDS[0] + (_SPEEDS[1] - _SPEEDS[0]) * speed
        times.append(times[-1] + np.linalg.norm(places[-1] - places[-2]) / speed)
    return np.array(times), np.array(places)


def _received(powers, gains, serving):
    """Return the power (n, n_nodes, n_users) that users receive from their own and other nodes."""
    received = powers[:, :, np.newaxis] * gains
    return np.where(serving, received, 0.0), np.where(serving, 0.0, received)


class WLAN(Problem):
    r"""Maximize the throughput of a wireless network with moving users.

    .. math:: f(x, t) = \sum_i \sum_{j \in N_i} W \log_2 \left( 1 + \frac{x_i g_{ij}(t)}
        {\eta + \sum_{k \ne i} x_k g_{kj}(t)} \right),

    the sum of the Shannon capacities of the links from node i to its users N_i, in Mbit/s, where
    x_i is the power of node i in mW, from 10^0.1 to 10^2.5. All share one channel of W MHz: the
    power of a node interferes with the users of the others.

    Parameters
    ----------
    n_nodes : int, default=4
        From 1 to 8.
    n_users : int, default=18
    bandwidth : float, default=1.0
        W, in MHz.
    association : {"nearest", "fixed"}, default="nearest"
        The users N_i of a node are those nearest to it, at the present time or at time 0. With
        "nearest", f jumps when a user moves from one cell to another.
    horizon, noise, noise_variance, random_state
        See `sktvbo.problems.make`. ``random_state`` determines the walks and, by a separate stream,
        the noise. A longer horizon continues the walks; more users do not change the first ones.

    Notes
    -----
    Source: W-DBO appendix G.2 (4 nodes, 18 users) and BOLT appendix F (6 nodes, 27 users): the
    objective and the range of the powers. They do not specify the positions of the nodes, the
    movement of the users and the fading of the signal. The N_i of their formula do not depend on
    time. Here

    - the nodes are at the centres of square cells, 25 m wide, of a rectangle as square as their
      number allows;
    - the users move by random waypoints: straight to a point drawn uniformly from the
      rectangle, at a speed drawn uniformly from 0.5 to 1.5 m/s, without pauses;
    - the gain g is 40.05 dB of loss at one metre (free space at 2.4 GHz) and 30 dB more per
      decade of distance, which is at least one metre;
    - the noise η has -174 dBm/Hz and a noise figure of 7 dB.

    With the default of 1 MHz, one per cent of the variance of BOLT's network is 1.5, the noise in
    its Table 2.

    f has several local maxima over x. `optimum` runs L-BFGS-B from up to 8 points, found by
    exhaustive searches over one power at a time from all corners of the domain.

    Examples
    --------
    >>> from problems import make
    >>> problem = make("wlan", n_nodes=6, n_users=27, random_state=0)
    >>> x_star, f_star = problem.optimum(300.0)
    >>> f_star > problem.value([100.0] * 6, 300.0)
    True
    """

    def __init__(
        self,
        *,
        n_nodes=4,
        n_users=18,
        bandwidth=1.0,
        association="nearest",
        horizon=600.0,
        noise=0.05,
        noise_variance=None,
        random_state=None,
    ):
        n_nodes = check_int(n_nodes, "n_nodes", self, high=_MAX_NODES)
        n_users = check_int(n_users, "n_users", self)
        self._bandwidth = check_real(bandwidth, "bandwidth", self, interval="(0, inf)")
        self._association = check_choice(association, ("nearest", "fixed"), "association", self)
        seed = seed_of_function(random_state)
        super().__init__("wlan", [_POWERS] * n_nodes, horizon, random_state=random_state)
        n_columns = math.ceil(math.sqrt(n_nodes))
        cells = np.array([divmod(i, n_columns)[::-1] for i in range(n_nodes)])
        self._nodes = _CELL * (cells + 0.5)
        arena = _CELL * (cells.max(axis=0) + 1.0)
        seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_users)
        self._walks = [_walk(arena, self.horizon, s) for s in seeds]
        self._noise_power = 10.0 ** (_NOISE_DENSITY / 10.0) * 1e6 * self._bandwidth  # mW
        self._set_noise(noise, noise_variance)

    def _users(self, t):
        """Return positions (m, n_users, 2) at the times (m,)."""
        return np.stack(
            [
                np.column_stack([np.interp(t, times, places[:, k]) for k in (0, 1)])
                for times, places in self._walks
            ],
            axis=1,
        )

    def _distances(self, t):
        """Return distances (m, n_nodes, n_users) from the nodes to the users at the times (m,)."""
        offsets = self._users(t)[:, np.newaxis] - self._nodes[:, np.newaxis]
        return np.linalg.norm(offsets, axis=3)

    def _links(self, t):
        """Return gains (m, n_nodes, n_users) at the times (m,), and masks of served users."""
        distances = self._distances(t)
        fixed = self._association == "fixed"
        nearest = np.argmin(self._distances(np.zeros(1)) if fixed else distances, axis=1)
        serving = nearest[:, np.newaxis] == np.arange(len(self._nodes))[:, np.newaxis]
        loss = _LOSS_AT_1_M + 10.0 * _LOSS_EXPONENT * np.log10(np.maximum(distances, 1.0))
        return 10.0 ** (-loss / 10.0), np.broadcast_to(serving, loss.shape)

    def _capacity(self, powers, links):
        own, others = (received.sum(axis=1) for received in _received(powers, *links))
        sinr = own / (self._noise_power + others)
        return self._bandwidth / math.log(2.0) * np.log1p(sinr).sum(axis=1)

    def _minus_capacity(self, log_powers, links):
        """Return minus the capacity at a point and its gradient, in the logarithm of the powers."""
        own, others = (received[0] for received in _received(np.exp(log_powers)[None], *links))
        interference = self._noise_power + others.sum(axis=0)
        signal = own.sum(axis=0)
        unit = self._bandwidth / math.log(2.0)
        # log(1 + s/i) = log(i + s) - log i.
        slopes = (own + others) / (interference + signal) - others / interference
        return -unit * np.log1p(signal / interference).sum(), -unit * slopes.sum(axis=1)

    def _values(self, X, t):
        size = len(self._nodes) * len(self._walks)
        return by_parts(lambda x, s: self._capacity(x, self._links(s)), X, t, size)

    def _argmax(self, t):
        links = self._links(np.atleast_1d(t))
        found = [
            minimize(
                self._minus_capacity,
                start,
                args=(links,),
                method="L-BFGS-B",
                jac=True,
                bounds=[tuple(_LOG_POWERS)] * len(self._nodes),
                options={"ftol": 1e-13},
            )
            for start in self._starts(links)
        ]
        best = min(found, key=lambda result: result.fun)
        return np.clip(np.exp(best.x), self.domain.lower, self.domain.upper)

    def _starts(self, links):
        """Return the logarithms of the powers at the ends of one-node searches, best first.

        From each corner of the domain, node after node takes the best of several levels of power.
        """
        d, levels = len(self._nodes), np.linspace(*_LOG_POWERS, _N_LEVELS)
        starts = np.array(list(product((0, _N_LEVELS - 1), repeat=d)))
        for node in list(range(d)) * _N_TURNS:
            tried = np.repeat(starts[:, np.newaxis], _N_LEVELS, axis=1)
            tried[:, :, node] = np.arange(_N_LEVELS)
            values = self._capacity(np.exp(levels[tried.reshape(-1, d)]), links)
            starts[:, node] = np.argmax(values.reshape(-1, _N_LEVELS), axis=1)
            starts, _ = distinct_rows(starts)
        order = np.argsort(-self._capacity(np.exp(levels[starts]), links), kind="stable")
        return levels[starts[order[:_N_STARTS]]]


register("wlan", WLAN)
