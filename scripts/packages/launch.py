"""Drift as a Python package: the command `drift`, which becomes the program."""

import importlib.util
import os
import sys

_folder = os.path.dirname(os.path.realpath(__file__))


def _torch_libraries():
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("error: drift needs the package torch, which is not installed\n  = pip install torch==2.11.0")
    return os.path.join(os.path.realpath(spec.submodule_search_locations[0]), "lib")


def main():
    # The program looks for LibTorch in the folder beside this one. Another place has to be named.
    if not os.path.isfile(os.path.join(_folder, "..", "torch", "lib", "libtorch_cpu.so")):
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [_torch_libraries(), os.environ.get("LD_LIBRARY_PATH")]))
    os.environ.setdefault("DRIFT_PYTHON", sys.executable)  # for components in Python
    os.execv(os.path.join(_folder, "bin", "drift"), ["drift", *sys.argv[1:]])
