"""The examples run, and what they say holds."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def run_example(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield lambda name, **options: runpy.run_path(next(EXAMPLES.rglob(name)), **options)
    pyplot.close("all")


def test_pictures_of_ones_own_optimizer(run_example):
    found = run_example("plot_own_optimizer.py")["found"]
    best = 10.0 ** (-3.0 + 1.5 * np.sin(60.0 / 20.0))
    assert found.x["penalty"] == "l2"
    assert 0.1 * best < found.x["rate"] < 10.0 * best


def test_optuna(run_example, capsys):
    pytest.importorskip("optuna")
    run_example("plot_optuna.py")
    ours, theirs = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert ours < 0.5 * theirs


def test_context(run_example, capsys):
    run_example("plot_context.py")
    told, not_told = (
        float(part.split()[-1].rstrip("}")) for part in capsys.readouterr().out.split(",")
    )
    assert told < 0.3 * not_told


@pytest.mark.slow
def test_beams(run_example, capsys):
    example = run_example("plot_beams.py")
    assert example["believed"].shape == example["gains"].shape == (250, 32)
    ours, static, random = (float(line.split()[1]) for line in capsys.readouterr().out.splitlines())
    assert ours < min(static, random) / 3.0


def test_kriging(run_example):
    errors = run_example("plot_kriging.py")["errors"]
    in_time = errors.pop("sphere and time")
    assert in_time < 0.95 * min(errors.values())


@pytest.mark.slow
def test_latency(run_example):
    spent = {
        name: np.array(each) for name, each in run_example("plot_latency.py")["latencies"].items()
    }
    tell, search = spent["tell"], spent["tell, with a search"]
    assert len(tell) + len(search) == len(spent["ask"]) == 396
    assert np.median(tell) < np.median(search)


@pytest.mark.slow
def test_sensitivity(run_example):
    example = run_example("plot_sensitivity.py")
    fast, slow = np.array(example["windows"])[example["curves"].argmin(axis=0)]
    assert fast < slow
    assert (example["untuned"] < 1.2 * example["curves"].min(axis=0)).all()


@pytest.mark.slow
def test_constraints(run_example, capsys):
    opt = run_example("plot_constraints.py")["opt"]
    assert capsys.readouterr().out.startswith("0 of 110 queries break")
    # Where the disc and the line leave room.
    assert np.median(abs(opt.told_X_[-10:, 1] - 0.8)) < 0.05


@pytest.mark.slow
def test_limits(run_example, capsys):
    found = run_example("plot_limits.py")
    violations, saved = capsys.readouterr().out.splitlines()
    assert int(violations.split()[0]) <= 0.05 * 120
    assert int(saved.split()[0]) >= 10
    late = found["optimizer"].told_X_[-10:, :3].sum(axis=1)
    assert np.all(late < 1.05 * found["demand"](found["times"][-10:]))


@pytest.mark.slow
def test_workers_of_dask(run_example):
    pytest.importorskip("distributed")
    found = run_example("plot_dask.py")["found"]
    assert len(found.calls) == found.optimizer.n_told_ == 60


def test_failures(run_example):
    optimizer = run_example("plot_failures.py")["optimizer"]
    assert optimizer.n_told_ + optimizer.n_failed_ == 200
    assert optimizer.n_failed_ <= 25  # half of what chance would have


def test_cautious_moves(run_example):
    example = run_example("plot_cautious.py")
    steps = [np.abs(np.diff(example[name].told_X_[:, 0])) for name in ("free", "gentle")]
    assert steps[1].max() <= 0.5 + 1e-9 < steps[0].max()
    assert steps[1].sum() < steps[0].sum()
    late = [example[name].told_X_[50:] for name in ("free", "gentle")]
    free, gentle = (np.median(np.abs(X[:, 0] - example["best"](X[:, 1]))) for X in late)
    assert gentle < min(0.5, free + 0.1)  # it costs little


def test_polled_at_odd_times(run_example):
    example = run_example("plot_odd_times.py")
    polls, doubts = example["polls"], example["doubts"]
    assert np.ptp(np.diff(polls)) > 7.0
    assert example["gap"] < 10.0
    night = 60 - (len(polls) - len(doubts))
    assert doubts[night][-1] == max(map(max, doubts)) > 10.0 * doubts[night][0]


def test_a_worker_that_does_not_answer(run_example):
    example = run_example("plot_lost_worker.py")
    opt, lost, pending = example["opt"], example["lost"], np.array(example["pending"])
    expired = pending[:, 0] > lost.t + example["TIMEOUT"]
    assert set(pending[4:][~expired[4:], 1]) == {4.0}
    assert set(pending[expired, 1]) == {3.0}
    assert lost.id not in [query.id for query in opt.pending_]
    late = opt.told_X_[-20:]
    assert np.median(np.abs(late[:, 0] - example["best"](late[:, 1]))) < 1.0


@pytest.mark.slow
def test_another_process_goes_on(run_example):
    example = run_example("plot_other_process.py")
    assert example["resumed"].n_told_ == 50
    # To rounding: what continues from a journal recomputes its factors.
    for name in ("told_X_", "told_y_"):
        found, expected = (getattr(example[run], name) for run in ("resumed", "whole"))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_a_logbook_and_a_setting(run_example):
    example = run_example("plot_history.py")
    informed, lost = example["informed"], [np.mean(each) for each in example["lost"].values()]
    assert informed.n_told_ == 660
    assert informed.told_X_[600, 0] == example["now_on"]
    assert lost[0] < 0.25 * lost[1]


def test_a_window_that_follows_the_seasons(run_example, capsys):
    example = run_example("plot_online_tuner.py")
    assert len(example["tuned"]) == 29
    for losses in (example["tuned"], *example["fixed"].values()):
        assert 1.0 < losses.mean() < 9.0
    assert example["tuner"].prequential_loss_ == pytest.approx(example["tuned"].mean())
    assert "the best" in capsys.readouterr().out


@pytest.mark.slow
def test_the_tuner_is_better_than_the_best_window(run_example):
    example = run_example("plot_online_tuner.py", run_name="__main__")
    means = {window: losses.mean() for window, losses in example["fixed"].items()}
    assert example["tuned"].mean() < means[example["best"]]
    assert example["tuned"].mean() < 0.95 * np.median(list(means.values()))


@pytest.mark.slow
def test_time_helps_on_later_days(run_example, data_dir, capsys, monkeypatch):
    if not (data_dir / "ny_state_ozone_2020.npz").is_file():
        pytest.skip("ny_state_ozone_2020.npz is missing")
    monkeypatch.setenv("SKTVBO_DATA", str(data_dir))
    example = run_example("plot_ozone_forgetting.py")
    assert "New York State, 2020" in example["source"]
    static, varying = (example["table"][f"{name} pipeline"] for name in ("static", "time-varying"))
    assert varying[0] < 0.6 * static[0]  # silent sites today
    assert varying[1] < 0.95 * static[1]  # all sites tomorrow
    assert "time-varying pipeline" in capsys.readouterr().out


@pytest.mark.slow
def test_without_data_it_says_so_and_generates_them(run_example, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path))
    example = run_example("plot_ozone_forgetting.py")
    assert example["source"] == "generated field"
    assert example["data"].ozone.shape == (338, 25)
    # 40 % of the field is new every day: of the rates, the search chooses one nearby.
    assert example["of_forgetting"].best_params_["gp__temporal_kernel__epsilon"] in (0.2, 0.4, 0.6)
    static, varying = (example["table"][f"{name} pipeline"] for name in ("static", "time-varying"))
    assert np.all(np.array(varying) < static)
    out = capsys.readouterr().out
    assert "aqs.epa.gov" in out
    assert "SKTVBO_DATA" in out


@pytest.mark.slow
def test_forgetting_has_a_valley(run_example):
    example = run_example("plot_grid_search_alpha.py")
    overall, i = example["overall"], example["alphas"].index(1.0)
    assert overall[1:-1].min() < min(overall[0], overall[-1])
    means, errors = (example[name][2] for name in ("means", "errors"))  # of the switched camel
    assert means[0] - errors[0] > means[i] + errors[i]


def test_a_controller_counts_its_late_cycles(run_example, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["controller.py", "40"])
    example = run_example("controller.py")
    assert len(example["latencies"]) == example["optimizer"].n_told_ == 40
    # Each query at the start of its cycle, which is on the grid.
    cycles = example["optimizer"].told_X_[:, -1] / example["CYCLE"]
    np.testing.assert_allclose(cycles, np.round(cycles), atol=1e-6)
    assert np.sum(np.diff(cycles) > 1.5) == example["late"] - (example["n_passed"] > 1)
    assert f"{example['late']} of 40 cycles" in capsys.readouterr().out


@pytest.mark.slow
def test_maximum_power(run_example, capsys):
    example = run_example("power_tracking.py")
    ours, rule = (float(line.split()[-6]) for line in capsys.readouterr().out.splitlines())
    assert 0.0 < ours < rule < 20.0
    power = example["power"]
    # As many local maxima as there are levels of the sun.
    full = example["string_power"](np.array([1.0, 1.0, 1.0]))
    shaded = example["string_power"](np.array([1.0, 1.0, 0.5]))
    for values, n_maxima in ((full, 1), (shaded, 2)):
        assert np.sum((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])) == n_maxima
    jumps = np.abs(np.diff(example["VOLTAGES"][power.argmax(axis=1)]))
    assert 4 <= np.sum(jumps > 10.0) <= 10


@pytest.mark.slow
def test_the_eleventh_sensor(run_example, monkeypatch):
    monkeypatch.delenv("SKTVBO_DATA", raising=False)
    scores = run_example("plot_eleventh_sensor.py")["scores"]
    alone, informed = scores["alone"], scores["from ten"]
    assert (informed[:, 0] < alone[:, 0]).all()
    assert (informed[:, 1] > alone[:, 1] + 0.3).all()


@pytest.mark.slow
def test_the_fleet(run_example):
    pytest.importorskip("distributed")
    example = run_example("plot_fleet.py", run_name="__main__")
    regrets, n_first = example["regrets"], example["N_FIRST"]
    assert regrets.shape == (example["N_MACHINES"], example["N_QUERIES"])
    assert regrets[n_first:].mean() < 0.5 * regrets[:n_first].mean()
    machine, n_told = example["DIES"]
    assert example["n_before"][machine] == n_told  # its worker died, and nothing was lost
    assert regrets[machine].mean() < regrets[:n_first].mean()
