"""What the tests of drift_rl share. tests/python/run starts them with the module in PYTHONPATH."""

import json
import os
import subprocess
from pathlib import Path

import drift_rl
import pytest

# Of the quickstart: two prompts of four responses a step, one thread, whatever the machine has.
TINY = {
    "run.threads": 1,
    "train.steps": 2,
    "train.prompts_per_step": 2,
    "train.group_size": 4,
    "evaluation.items": 4,
}
SOURCE = Path(os.environ.get("DRIFT_SOURCE_DIR", Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="session")
def source():
    """The tree."""
    return SOURCE


@pytest.fixture(scope="session")
def drift():
    """Runs the program: drift("loss", "rldf", …) gives its standard output."""

    def run(*arguments, status=0):
        program = os.environ.get("DRIFT_BIN", str(SOURCE / "build/release/bin/drift"))
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def json_lines():
    def parse(text):
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    return parse


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Runs of two learning rates, each of two seeds, and what on_step was given of the first."""
    made, steps = {}, []
    for rate in (1e-4, 1e-3):
        for seed in (1, 2):
            out = tmp_path_factory.getbasetemp() / "runs" / f"{rate}-{seed}"
            settings = {**TINY, "run.seed": seed, "train.learning_rate": rate}
            made[rate, seed] = drift_rl.train("quickstart", None if made else steps.append, out=out, **settings)
    return made, steps
