"""
==========================================
Four workers, one of which does not answer
==========================================

Four workers measure at the same time. Each tells its result by the handle of its query and gets the
next query. One worker dies. Its query stays pending, and other queries keep away from it until
``query_timeout`` has passed.
"""

import heapq

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

rng = np.random.RandomState(0)
ENDS, DIES, TIMEOUT = 60.0, 20.0, 10.0


def best(t):
    return 5.0 + 3.0 * np.sin(np.asarray(t) / 12.0)


opt = WDBO([(0.0, 10.0)], query_timeout=TIMEOUT, n_initial_points=8, random_state=0)
waiting = [(0.1 * worker, worker, None) for worker in range(4)]  # when who is done, with what
made, pending, lost = [], [], None
while waiting[0][0] < ENDS:
    now, worker, query = heapq.heappop(waiting)
    if query is not None:
        opt.tell(query, -((query.x[0] - best(query.t)) ** 2))
        made.append((worker, query.x[0], query.t, now))
    query = opt.suggest(now)
    pending.append((now, len(opt.pending_)))
    if worker == 3 and now > DIES:
        lost = query  # and the worker with it
        continue
    heapq.heappush(waiting, (now + rng.uniform(1.0, 3.0), worker, query))
print(
    f"{opt.n_told_} told; still waited for: {[query.id for query in opt.pending_]}, not {lost.id}."
)

# %%
# Each line is a query, from the time of ``suggest`` to the time of ``tell``. The dashed one is
# never told. It is pending in the shaded time and expires at its end: then three queries are
# pending, one for each worker that is left.

_, (above, below) = plt.subplots(
    2, 1, figsize=(9.0, 5.4), sharex=True, height_ratios=[3, 1], layout="constrained"
)
for ax in (above, below):
    ax.axvspan(lost.t, lost.t + TIMEOUT, color="0.92")
times = np.linspace(0.0, ENDS, 300)
above.plot(times, best(times), color="black", linewidth=0.8, label="best input")
for number in range(4):
    rows = np.array([row[1:] for row in made if row[0] == number])
    above.hlines(*rows.T, color=f"C{number}", linewidth=2.0, label=f"worker {number}")
above.hlines(lost.x, lost.t, ENDS, color="C3", linestyle="dashed", label="never told")
above.set_ylabel("x")
above.legend(loc="lower left", ncols=3, fontsize="small")
below.step(*zip(*pending), where="post", color="black")
below.set(xlabel="time", ylabel="pending", ylim=(0.0, 5.0), xlim=(0.0, ENDS))
plt.show()
