"""Mistakes, each of which pyrefly finds, in the line that says so.

mypy does not know the types of scikit-learn, and of an argument that is a class with a metaclass.
"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import SGDRegressor

from sktvbo import ABO, WDBO, TimeVaryingGPRegressor, evaluation, problems
from sktvbo.acquisition import UCB
from sktvbo.dpp import sample_kdpp
from sktvbo.kernels import Forgetting
from sktvbo.model_selection import OnlineRun, OnlineTuner
from sktvbo.optimizers import BayesianOptimizer
from sktvbo.staleness import RelevancyBudget

WDBO([(0.0, 1.0)], alfa=0.25)  # wrong
WDBO([(0.0, 1.0)], alpha="much")  # wrong
WDBO([(0.0, 1.0)], 0.25)  # wrong
WDBO(3)  # wrong, not for mypy
WDBO([(0.0, 1.0)], clock="walls")  # wrong
BayesianOptimizer([(0.0, 1.0)], surrogate=GaussianProcessRegressor())  # wrong, not for mypy
BayesianOptimizer([(0.0, 1.0)], policy=UCB())  # wrong

opt = WDBO([(0.0, 1.0)])
opt.tell({0.5}, 1.0)  # wrong
opt.tell([0.5], "1.0")  # wrong
opt.ask("now")  # wrong
opt.ask(0.0, n=4)  # wrong
opt.best()  # wrong
opt.tel([0.5], 1.0)  # wrong
opt.ask().queries  # noqa: B018  # wrong
when: float = ABO([(0.0, 1.0)]).suggest()  # wrong
opt.suggest(0.0, n=3).t  # noqa: B018  # wrong
opt.suggest(0.0).index  # noqa: B018  # wrong
x, value = opt.recommend(0.0, return_value=True)  # wrong

X, y = np.zeros((3, 2)), np.zeros(3)
gp = TimeVaryingGPRegressor(Forgetting(epsilon=[0.03]))  # wrong
TimeVaryingGPRegressor(temporal_kernel="rbf")  # wrong, not for mypy
TimeVaryingGPRegressor(noise_variance_bounds=3.0)  # wrong
gp.fit(X)  # wrong
gp.fit(X, None)  # wrong
mean: np.ndarray = gp.predict(X, return_std=True)  # wrong
gp.predict(X, with_std=True)  # wrong
gp.predict_std(X)  # wrong
OnlineTuner(SGDRegressor(), {"alpha": (0.0, 1.0)}).learn(X, y)  # wrong
OnlineRun(WDBO(), horizon=10.0).scores([])  # wrong
UCB().value(mean)  # wrong
RelevancyBudget().after_tell(gp)  # wrong
sample_kdpp(np.eye(3), 2, method="mc")  # wrong
problems.make("ackley").optimum()  # wrong
evaluation.compare({"W-DBO": WDBO()}, "ackley")  # wrong
evaluation.run(WDBO(), problems.make("ackley"), n_initial="all")  # wrong
