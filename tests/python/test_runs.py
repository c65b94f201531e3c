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
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(drift_rl.Error, match="no NumPy"):
        trained[0][1e-4, 1].metrics


def test_files_of_a_run(trained, folder):
    run = trained[0][1e-4, 1]
    assert run.config["train"]["steps"] == 2 and run.config["algorithm"]["loss"]["norm"] == "token"
    kept = run.responses(1)
    assert len(kept) == 8 and {one["group"] for one in kept} == {0, 1}
    assert kept[0]["response"] == "".join(kept[0]["tokens"]) and kept[0]["reference"] and "responses" not in kept[0]
    for name in ("last", "step-000002"):
        assert run.checkpoint(name) == run.path / "checkpoints/step-000002"
    (run.path / "report.html").unlink()
    assert run.report() == run.path / "report.html" and run.report().exists()
    for ask, what, hint in (
        (lambda: run.responses(7), "responses of step 7 are not kept", r"\[1, 2\]"),
        (lambda: run.checkpoint("best"), "no checkpoint `best`", "needs train.keep_best, and a step that surpasses"),
        (lambda: run.checkpoint("step-000001"), "no checkpoint `step-000001`", "last, step-000002"),
        (lambda: drift_rl.Run(folder), "is not the folder of a run", "runs"),
    ):
        with pytest.raises(drift_rl.Error, match=what) as raised:
            ask()
        assert re.search(hint, raised.value.hint)


def test_the_best_checkpoint_is_the_one_that_the_program_keeps(folder):
    kept = {"train.keep_best": True, "train.steps": 12, "evaluation.every": 4, "evaluation.items": 64}
    run = drift_rl.train("quickstart", out=folder / "run", **kept)
    steps = run.metrics.set_index("step")["held_out.accuracy"].dropna()
    assert steps.idxmax() > 0, "these steps are to help"
    assert run.checkpoint("best").name == f"step-{steps.idxmax():06}"


def test_runs_of_a_folder(trained):
    made = trained[0]
    found = drift_rl.runs(made[1e-4, 1].path.parent.parent)
    assert {run.path for run in made.values()} <= {run.path for run in found}
    shown = "state finished, algorithm rldf, step 2, steps 2, last_accuracy .*, best_accuracy .*, seconds .*"
    assert re.fullmatch(f"<drift_rl.Run name .*, folder .*, {shown}>", repr(made[1e-4, 1]))
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
    with pytest.raises(drift_rl.Error, match="a side is empty"):
        drift_rl.compare([], "eval-1")
