"""drift_rl.Run, runs() and compare()."""

import json
import math
import re
import subprocess
import sys

import drift_rl
import pytest
from drift_rl import _place


def test_metrics_are_a_frame(trained):
    run, seen = trained[0][1e-4, 1], trained[1]
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    frame = run.metrics
    assert list(frame["step"]) == [0, 1, 2]
    assert list(frame["reward"])[1:] == [line["reward"] for line in lines[1:]] and math.isnan(frame["reward"][0])
    assert list(frame["held_out.accuracy"])[2] == lines[2]["held_out"]["accuracy"]
    assert math.isnan(frame["seconds.update"][0])
    assert [metrics["reward"] for metrics in seen][1:] == list(frame["reward"])[1:]


def test_metrics_without_pandas_are_arrays(trained, monkeypatch):
    numpy = pytest.importorskip("numpy")
    frame = trained[0][1e-4, 1].metrics
    monkeypatch.setitem(sys.modules, "pandas", None)
    columns = trained[0][1e-4, 1].metrics
    assert isinstance(columns, dict) and list(columns) == list(frame)
    for name, column in columns.items():
        assert isinstance(column, numpy.ndarray) and column.shape == (3,)
        assert numpy.array_equal(column, frame[name].to_numpy(), equal_nan=column.dtype.kind == "f")


def test_files_of_a_run(trained, folder):
    run = trained[0][1e-4, 1]
    assert run.config["train"]["steps"] == 2 and run.config["algorithm"]["loss"]["norm"] == "token"
    kept = run.responses(1)
    assert len(kept) == 8 and {one["group"] for one in kept} == {0, 1}
    assert kept[0]["response"] == "".join(kept[0]["tokens"]) and kept[0]["reference"] and "responses" not in kept[0]
    for name in ("last", "best", "step-000002"):
        assert run.checkpoint(name) == run.path / "checkpoints/step-000002"
    (run.path / "report.html").unlink()
    assert run.report() == run.path / "report.html" and run.report().exists()
    for ask, what, hint in (
        (lambda: run.responses(7), "responses of step 7 are not kept", r"\[1, 2\]"),
        (lambda: run.checkpoint("step-000001"), "no checkpoint `step-000001`", "last, step-000002"),
        (lambda: drift_rl.Run(folder), "is not the folder of a run", "runs"),
    ):
        with pytest.raises(drift_rl.Error, match=what) as raised:
            ask()
        assert re.search(hint, raised.value.hint)


def test_the_best_checkpoint_has_the_highest_accuracy(folder):
    (folder / "config.toml").write_text("")
    for step in (1, 2, 3):
        (folder / f"checkpoints/step-{step:06}").mkdir(parents=True)
    (folder / "checkpoints/last").symlink_to("step-000003")
    run = drift_rl.Run(folder)
    with pytest.raises(drift_rl.Error, match="no checkpoint `best`"):
        run.checkpoint("best")
    accuracies = {0: {"accuracy": 0.9}, 1: {"accuracy": 0.5}, 2: {"accuracy": 0.7}, 3: {"accuracy": 0.6}}
    lines = [json.dumps({"step": step, "reward": None, "held_out": held}) for step, held in accuracies.items()]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + '\n{"step": 4, "rew')  # which is being written
    assert run.checkpoint("best").name == "step-000002" and run.checkpoint().name == "step-000003"
    lines[1] = json.dumps({"step": 1, "reward": 1, "held_out": {"accuracy": 0.5, "validation": 0.8}})
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    assert run.checkpoint("best").name == "step-000001"
    assert "polyline" in run._repr_html_() and repr(run)


def test_runs_of_a_folder(trained):
    made = trained[0]
    found = drift_rl.runs(made[1e-4, 1].path.parent.parent)
    assert {run.path for run in made.values()} <= {run.path for run in found}
    shown = "algorithm rldf, task sudoku, status finished, steps 2, held_out.before .*, held_out.after .*"
    assert re.fullmatch(f"<drift_rl.Run .*: {shown}>", repr(found[0]))
    assert found[0]._repr_html_().startswith("<table>") and "<polyline" in found[0]._repr_html_()


def test_runs_are_compared_seed_by_seed(trained):
    made = trained[0]
    found = drift_rl.compare([made[1e-4, 1], made[1e-4, 2]], [made[1e-3, 1], made[1e-3, 2].path])
    assert found["differences"][0]["pairs"] == 2 and len(found["runs"]) == 4
    accuracy = {key: run.metrics["held_out.accuracy"].iloc[-1] for key, run in made.items()}
    expected = sum(accuracy[1e-3, seed] - accuracy[1e-4, seed] for seed in (1, 2)) / 2
    assert found["differences"][0]["difference"] == pytest.approx(100 * expected)
    assert "p (Holm)" in str(found) and "index.html" not in str(found)
    assert drift_rl.compare(made[1e-4, 1], made[1e-3, 1])["differences"][0]["pairs"] == 1


def test_evaluations_are_compared_item_by_item(trained):
    for seed in (1, 2):
        checkpoint = str(trained[0][1e-4, seed].checkpoint())
        command = [*_place.program(), "eval", checkpoint, "--out", f"eval-{seed}"]
        subprocess.run(command, env=_place.environment(), check=True, capture_output=True)
    found = drift_rl.compare("eval-1", "eval-2")
    assert found["cells"][0]["items"] == 4 and "McNemar" in str(found)
    with pytest.raises(drift_rl.Error, match="there is no folder missing"):
        drift_rl.compare("missing", "eval-1")
