"""What the tests of drift_rl share. tests/python/run starts them with the module in PYTHONPATH."""

import json
import os
import subprocess
from pathlib import Path

import pytest

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
