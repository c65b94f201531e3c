"""drift_rl.train()."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import drift_rl
import pytest
import torch
from conftest import TINY
from drift_rl import _place

PACKAGES = str(Path(drift_rl.__file__).parent.parent)
LONG = {**TINY, "train.steps": 5000}


def program(*arguments):
    return subprocess.run([*_place.program(), *arguments], env=_place.environment(), capture_output=True, check=True)


def results(run):
    """The lines of metrics.jsonl, but for times."""
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        for name in ("seconds", "tokens_per_second"):
            line.pop(name, None)
        line.get("held_out", {}).pop("seconds", None)
    return lines


def status(run):
    return json.loads((run.path / "summary.json").read_text())["status"]


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_numbers_are_those_of_the_program(capsys):
    seen = []
    run = drift_rl.train("quickstart", seen.append, out="ours", run={"seed": 3}, **TINY)
    settings = [f"--set={key}={value}" for key, value in {**TINY, "run.seed": 3}.items()]
    shipped = _place.prefix() / "share/drift/configs/quickstart.toml"
    program("train", str(shipped), "--out=theirs", *settings)
    theirs = drift_rl.Run("theirs")
    assert results(run) == results(theirs)
    weights = [(one.checkpoint() / "model.safetensors").read_bytes() for one in (run, theirs)]
    assert weights[0] == weights[1]
    assert [metrics["step"] for metrics in seen] == [0, 1, 2]
    assert math.isnan(seen[0]["reward"]) and seen[2]["reward"] == results(run)[2]["reward"]
    assert "held_out.accuracy" in seen[2] and "seconds.update" in seen[2]
    said = capsys.readouterr().out
    assert all(part in said for part in ("run ours\n", "  step reward", "ours/report.html\n"))


def test_a_dict_is_a_configuration():
    os.symlink(_place.prefix() / "share/drift/assets/sudoku-llada", "my-model")
    settings = {
        "extends": ["quickstart", "drift:configs/models/sudoku-llada.toml"],
        "run": {"name": "Übung\x7f"},
        "model": {"path": "my-model"},  # relative to the working folder
        "train.learning_rate": 1e-05,
        "train": {"steps": 9, "prompts_per_step": 2, "group_size": 4},
        "evaluation": {"items": 4, "before": False},
        "rollout": {"stop_ids": [3], "quirks": []},
    }
    run = drift_rl.train(settings, out=Path("out"), train={"steps": 1})
    config = run.config
    assert config["run"]["name"] == settings["run"]["name"]
    assert config["train"]["learning_rate"] == 1e-05 and config["train"]["steps"] == 1
    assert config["rollout"]["stop_ids"] == [3] and config["evaluation"]["before"] is False
    assert drift_rl.train("out/config.toml", out="again").config["model"]["path"].endswith("my-model")


@pytest.mark.parametrize("of", [bool, "numpy"])
def test_on_step_stops_the_run(of):
    of = pytest.importorskip("numpy").bool_ if of == "numpy" else of
    run = drift_rl.train("quickstart", lambda metrics: of(metrics["step"] < 2), out="out", **LONG)
    assert status(run) == "interrupted" and 2 <= results(run)[-1]["step"] < 5000
    assert run.checkpoint().name == f"step-{results(run)[-1]['step']:06}"


def test_on_step_raises_after_an_orderly_end():
    def on_step(metrics):
        if metrics["step"] == 1:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        drift_rl.train("quickstart", on_step, out="out", **LONG)
    assert status(drift_rl.Run("out")) == "interrupted" and drift_rl.Run("out").checkpoint().exists()
    with pytest.raises(RuntimeError, match="enough"):  # after the last step, the run ends by itself
        drift_rl.train("quickstart", on_step, out="short", **{**TINY, "train.steps": 1})
    assert status(drift_rl.Run("short")) == "finished"


def test_a_function_is_the_reward():
    asked = []

    def reward(response, reference):
        asked.append((response, reference))
        return 1 if response.startswith("1") else len(set(response)) / 100

    drift_rl.train("quickstart", out="out", **TINY)
    run = drift_rl.train("quickstart", out="out", overwrite=True, reward=reward, **TINY)
    kept = run.responses(1)
    for one in kept:
        expected = 1 if one["response"].startswith("1") else len(set(one["response"])) / 100
        assert one["reward"] == pytest.approx(expected) and one["solved"] == (expected == 1)
    assert kept[0]["reference"] in {reference for _, reference in asked}
    program("report", "out")  # without the function
    with pytest.raises(drift_rl.Error, match="a function of the Python process that trained it"):
        drift_rl.train("out/config.toml", out="again")


@pytest.mark.parametrize("value, raised", [(None, TypeError), (2, drift_rl.Error), (math.nan, drift_rl.Error)])
def test_a_function_that_fails_ends_the_run(value, raised):
    with pytest.raises(raised):
        drift_rl.train("quickstart", out="out", reward=lambda response, reference: value, **TINY)
    assert status(drift_rl.Run("out")) == "failed"


@pytest.mark.parametrize("reward", [{"score": "cells"}, drift_rl.reward("sudoku", score="cells")])
def test_a_reward_of_drift(reward):
    run = drift_rl.train("quickstart", out="out", reward=reward, **TINY)
    assert run.config["reward"]["score"] == "cells"


def test_settings_of_numpy_and_torch():
    numpy = pytest.importorskip("numpy")
    own = {
        "train.steps": numpy.int64(2),
        "train.learning_rate": numpy.float32(2**-10),
        "run.device": torch.device("cpu"),
    }
    run = drift_rl.train("quickstart", lambda metrics: 0, out="out", **{**TINY, **own})  # only False stops it
    assert status(run) == "finished" and run.config["train"]["learning_rate"] == 2**-10


def test_mistakes_are_errors_with_hints():
    for config, settings, what, hint in (
        ("algorithms/rlfd", {}, "there is no configuration `algorithms/rlfd`", "shipped file: .algorithms/rldf"),
        ("quickstart", {"on_step": 3}, "`on_step` is 3", "a function"),
        ("quickstart", {"reward": "nonsense"}, "`reward` is 'nonsense'", 'reward={"name": "sudoku"}'),
        ("quickstart", {"model.dtype": torch.bfloat16}, "torch.bfloat16 is not a setting: `model.dtype`", "a str"),
        ("quickstart", {"train.step": 3}, "unknown key `step` in", "keys of .train.: steps"),
        ("quickstart", {"model.path": "missing"}, "missing", "."),
        ("quickstart", {"run.name": None}, "None is not a setting", "leave out"),
    ):
        with pytest.raises(drift_rl.Error, match=what) as raised:
            drift_rl.train(config, **settings)
        assert re.search(hint, raised.value.hint), raised.value.hint
    assert not os.path.exists("runs")


def test_a_python_without_its_library_is_said(monkeypatch):
    Path("static").write_text("#!/bin/sh\nprintf '/static\\n3.11.2\\n\\n'\n")
    os.chmod("static", 0o755)
    monkeypatch.setenv("DRIFT_PYTHON", os.path.abspath("static"))
    with pytest.raises(drift_rl.Error, match="has no shared library") as raised:
        drift_rl.train("quickstart", out="out", reward=lambda response, reference: 0, **TINY)
    assert "DRIFT_PYTHON" in raised.value.hint


def start(reward=None):
    """A process that trains in the folder out, and says what it raises."""
    lines = (
        "import sys, time",
        f"sys.path.insert(0, {PACKAGES!r})",
        "import drift_rl",
        "def slow(response, reference):",
        "    while True:",
        "        print('asked', flush=True)",
        "        time.sleep(0.1)",
        "try:",
        f"    drift_rl.train('quickstart', out='out', reward={reward}, **{LONG})",
        "except KeyboardInterrupt:",
        "    print('raised here', flush=True)",
    )
    return subprocess.Popen([sys.executable, "-c", "\n".join(lines)], stdout=subprocess.PIPE, text=True)


def has_ended(process_id):
    stat = Path(f"/proc/{process_id}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def has_trained():
    return os.path.exists("out/metrics.jsonl") and Path("out/metrics.jsonl").read_text().count("\n") > 2


def test_an_interrupt_ends_the_run_in_an_orderly_way():
    training = start()
    wait_until(has_trained)
    training.send_signal(signal.SIGINT)
    assert "raised here" in training.communicate(timeout=60)[0]
    run = drift_rl.Run("out")
    assert status(run) == "interrupted" and run.checkpoint().exists()


def test_a_second_interrupt_does_not_wait():
    training = start(reward="slow")
    wait_until(lambda: "asked" in training.stdout.readline())
    child = int(Path(f"/proc/{training.pid}/task/{training.pid}/children").read_text())
    training.send_signal(signal.SIGINT)
    for _ in range(3):  # the first one has been seen
        training.stdout.readline()
    training.send_signal(signal.SIGINT)
    assert "raised here" in training.communicate(timeout=60)[0] and has_ended(child)


def test_the_run_ends_with_the_process():
    training = start()
    wait_until(has_trained)
    child = int(Path(f"/proc/{training.pid}/task/{training.pid}/children").read_text())
    training.kill()
    training.communicate()
    wait_until(lambda: has_ended(child))
    assert status(drift_rl.Run("out")) == "interrupted" and drift_rl.Run("out").checkpoint().exists()


def test_a_notebook_shows_one_line(monkeypatch, capsys):
    shown = []
    display = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    module = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=lambda *_, **__: display))
    drift_rl.train("quickstart", out="out", **TINY)
    assert [line.split("   ")[0] for line in shown] == ["step 0 of 2", "step 1 of 2", "step 2 of 2"]
    assert "reward" in shown[1] and shown[1].endswith(" left")
    assert all(line.startswith("warning: ") for line in capsys.readouterr().out.splitlines())
