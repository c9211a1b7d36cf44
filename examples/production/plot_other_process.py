"""
========================================
A run that goes on in another process
========================================

With a journal each step is on the disk before the call returns. Here two processes die, one after
the other, each in the middle of a measurement, and the next one resumes. The queries equal those of
an uninterrupted run.
"""

import math
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

PROCESS = """
import math, os, sys
from sktvbo import WDBO, Journal
path, dies_at = sys.argv[1:]
opt = WDBO([(0.0, 10.0)], journal=Journal(path, resume=True), random_state=0)
measure = lambda x, t: -((x[0] - 2.0 - 0.08 * t) ** 2) + 0.1 * math.sin(t**2)
for query in getattr(opt, "pending_", []):  # what the last process was about to measure
    opt.tell(query, measure(query.x, query.t))
for t in range(getattr(opt, "n_told_", 0), 50):
    x = opt.ask(t)
    if str(t) == dies_at:
        os._exit(1)
    opt.tell(x, measure(x, t))
"""
deaths = [20, 35]
with TemporaryDirectory() as folder:
    path = Path(folder) / "run.db"
    for dies_at in [*deaths, None]:
        subprocess.run([sys.executable, "-c", PROCESS, path, str(dies_at)])
    resumed = WDBO.resume(path)
    resumed.close()
whole = WDBO([(0.0, 10.0)], random_state=0)
for t in range(50):
    x = whole.ask(t)
    whole.tell(x, -((x[0] - 2.0 - 0.08 * t) ** 2) + 0.1 * math.sin(t**2))
# Another process factors the matrices again: rounding differs.
print(f"The queries differ by at most {np.abs(resumed.told_X_ - whole.told_X_).max():.0e}")

# %%
# Dots are the queries of the three processes. Circles are those of a run that was not interrupted.

x, t = resumed.told_X_.T
_, ax = plt.subplots(figsize=(9.0, 4.2), layout="constrained")
ax.plot(t, 2.0 + 0.08 * t, color="0.6", label="best input")
ax.plot(whole.told_X_[:, 1], whole.told_X_[:, 0], "o", color="black", mfc="none", markersize=7.0)
for i, part in enumerate(np.split(np.arange(50), deaths)):
    ax.plot(t[part], x[part], "o", markersize=4.0, label=f"process {i + 1}")
for death in deaths:
    ax.axvline(death, color="0.6", linestyle=":")
ax.set(xlabel="time", ylabel="x", ylim=(0.0, 12.0))
ax.legend(loc="upper left", ncols=4, fontsize="small")
plt.show()
