"""The package as such: what it imports, the torch and Python that it works with, other projects' names, forks."""

import os
import subprocess
import sys
from pathlib import Path

import drift_rl
import pytest
from drift_rl import _place

NEEDS_TORCH = "pip install torch==2.11.0"
# Calls each of `uses`, and prints its error and hint.
CALL = """
for use in uses:
    try:
        use()
        print("no error")
    except drift_rl.Error as error:
        print(error.what, error.hint, sep=" = ")
"""
# Every function that needs torch in this process; and those that start the program, as they do in a wheel.
USES = f"""
import drift_rl
uses = (
    lambda: drift_rl.loss("rldf"), lambda: drift_rl.masking("rldf"), lambda: drift_rl.load("nowhere"),
    lambda: drift_rl.reward("math"),
    lambda: drift_rl.advantages([1.0], 1), lambda: drift_rl.linear_log_softmax(None, None, None),
    lambda: drift_rl.rollout(None, [[1]], mask_id=0, vocabulary_size=2),
)
{CALL}"""
USES_OF_A_WHEEL = f"""
import drift_rl
drift_rl._place.in_wheel = lambda: True
uses = lambda: drift_rl.train("quickstart"), lambda: drift_rl.runs("."), lambda: drift_rl.compare("a", "b")
{CALL}"""


def python(*arguments, program=sys.executable, path=(), **environment):
    """Runs a Python whose search path begins with the folders `path`."""
    folders = [*map(str, path), os.environ["PYTHONPATH"]]
    environment = {**os.environ, "PYTHONPATH": ":".join(folders), **environment}
    return subprocess.run([program, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=300)


def printed(*arguments, **options):
    done = python(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def package(folder, name, code):
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(code)
    return folder


def others():
    """Each other CPython from 3.10 in PATH or of pyenv, one of a version."""
    folders = [*map(Path, os.get_exec_path()), *sorted(Path.home().glob(".pyenv/versions/*/bin"))]
    found = {}
    for file in (file for folder in folders for file in sorted(folder.glob("python3.*")) if file.name[8:].isdigit()):
        asked = "import sys; print(sys.implementation.name, *sys.version_info[:2], sys.base_prefix, sys.executable)"
        said = python("-c", asked, program=file)
        name, major, minor, prefix, program = (said.stdout.split() + [""] * 5)[:5]
        if name == "cpython" and int(minor) >= 10 and prefix != sys.base_prefix:
            found.setdefault(f"{major}.{minor}", program)
    return [pytest.param(program, id=version) for version, program in found.items()]


OTHERS = others() or [pytest.param(None, marks=pytest.mark.skip("there is no other CPython from 3.10"))]


def test_the_import_is_light():
    heavy = printed("-c", "import sys, drift_rl; print(*{'torch', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules))")
    assert heavy == "\n"
    assert set(dir(drift_rl)) == {*drift_rl.__all__, "__version__"}


def test_without_torch_every_use_is_one_error():
    errors = printed("-S", "-c", USES).splitlines()
    assert len(errors) == 7
    assert set(errors) == {f"drift_rl needs the package torch: No module named 'torch' = {NEEDS_TORCH}"}


def test_another_torch_is_one_error_with_both_versions(tmp_path):
    other = package(tmp_path, "torch", "from .version import __version__")
    (other / "torch" / "version.py").write_text("__version__ = '2.10.0+cpu'\n")
    errors = (printed("-c", USES, path=[other]) + printed("-c", USES_OF_A_WHEEL, path=[other])).splitlines()
    assert len(errors) == 10 and set(errors) == {
        f"drift_rl {drift_rl.__version__} works with torch 2.11.0, and this is torch 2.10.0+cpu = {NEEDS_TORCH}"
    }


@pytest.mark.parametrize("program", OTHERS)
def test_another_python(program, tmp_path):
    if "2.11.0" in python("-c", "import torch; print(torch.__version__)", program=program).stdout:
        printed(Path(__file__).with_name("use.py"), tmp_path, program=program)
    else:
        assert printed("-c", USES, program=program).count(NEEDS_TORCH) == 7


def test_a_use_of_everything(tmp_path):
    assert "works with torch 2.11.0" in printed(Path(__file__).with_name("use.py"), tmp_path)


def test_another_package_named_drift(tmp_path):
    other = package(tmp_path, "drift", "")
    assert printed("-c", "import drift_rl, drift; print(drift.Loss is drift_rl.Loss)", path=[other]) == "True\n"
    refused = python("-c", "import drift, drift_rl", path=[other])
    assert f"the package `drift` of {other}/drift/__init__.py is another project's" in refused.stderr


def test_a_fork_before_the_first_use_is_harmless():
    code = """
import os, drift_rl
child = os.fork()
drift_rl.loss("rldf")
if child:
    print(os.waitpid(child, 0)[1])
"""
    assert printed("-c", code) == "0\n"


def test_a_fork_after_the_first_use_is_an_error():
    code = """
import os, drift_rl
made = drift_rl.masking("rldf")
if child := os.fork():
    os.waitpid(child, 0)
try:
    made.plan([[1]], [[0]])
    print("no error", flush=True)
except drift_rl.Error as error:
    print(error.what, error.hint, flush=True)
"""
    child, parent = printed("-c", code).splitlines()
    assert "this process was forked" in child and 'multiprocessing.get_context("spawn")' in child
    assert parent == "no error"


def test_the_version_is_the_program_s():
    version = subprocess.run([os.environ["DRIFT_BIN"], "--version"], capture_output=True, text=True).stdout
    assert f"drift {drift_rl.__version__}\n" in version and f"LibTorch {_place.TORCH}\n" in version
    assert printed("-m", "drift_rl", "--version") == version
    assert printed("-S", "-m", "drift_rl", "--version") == version  # without torch, by the LibTorch of the build


def test_a_thread_that_is_in_drift_when_the_process_ends():
    printed(
        "-c",
        """
import os, threading, time, drift_rl
class EndsSlowly:
    def __del__(self, sleep=time.sleep):
        sleep(2)
ends_slowly = EndsSlowly()
model = drift_rl.load(os.environ["DRIFT_SOURCE_DIR"] + "/assets/sudoku-llada")
work = lambda: model.generate([[3, 4, 5]] * 64, rollout="block", length=48, block=48, steps=24, samples=8)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
""",
    )
