"""OnlineTuner beside river's model selection: logistic regression on the rotating hyperplane.

    python benchmarks/online_tuner_river.py [--seeds 10]

Both predict each batch of 100 rows before they learn it. river selects among the twelve settings of
the grid of online_tuner.py; OnlineTuner searches their ranges. Needs river.
"""

import argparse

import numpy as np
from online_tuner import hyperplane, percent, prequential, tuned
from river import bandit, linear_model, metrics, model_selection, optim
from threadpoolctl import threadpool_limits


class Batches:
    """A learner of river with the methods of scikit-learn's learners on batches."""

    def __init__(self, learner):
        self.learner = learner

    def predict(self, X):
        return np.array([self.learner.predict_one(dict(enumerate(x))) or 0 for x in X.tolist()])

    def partial_fit(self, X, y):
        for x, label in zip(X.tolist(), y.tolist()):
            self.learner.learn_one(dict(enumerate(x)), label)


def candidates(stream):
    return [
        linear_model.LogisticRegression(
            optim.SGD(setting["eta0"]), l2=setting["alpha"], intercept_lr=setting["eta0"]
        )
        for setting in stream.settings
    ]


def bandits(stream, seed):
    n = sum(len(y) for _, y in stream.batches)
    policy = bandit.EpsilonGreedy(epsilon=0.1, seed=seed)
    learners = {
        "SuccessiveHalvingClassifier": model_selection.SuccessiveHalvingClassifier(
            candidates(stream), metrics.Accuracy(), budget=n
        ),
        "BanditClassifier, epsilon-greedy": model_selection.BanditClassifier(
            candidates(stream), metrics.Accuracy(), policy
        ),
    }
    found = {name: prequential(Batches(learner), stream) for name, learner in learners.items()}
    fixed = [prequential(Batches(learner), stream) for learner in candidates(stream)]
    return found, fixed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    seeds = range(parser.parse_args().seeds)
    with threadpool_limits(1):
        ours = np.array([tuned(hyperplane(seed), seed)[0] for seed in seeds])
        runs = [bandits(hyperplane(seed), seed) for seed in seeds]
    rows = {name: np.array([found[name] for found, _ in runs]) for name in runs[0][0]}
    fixed = np.array([losses for _, losses in runs])
    rows["best fixed setting in hindsight"] = fixed[:, fixed.mean(axis=0).argmin()]
    print(f"{'OnlineTuner':34} {ours.mean():.4f}")
    for name, losses in rows.items():
        print(f"{name:34} {losses.mean():.4f}   tuner to this {percent(ours, losses)}")


if __name__ == "__main__":
    main()
