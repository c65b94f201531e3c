"""The command `drift`, which becomes the program."""

import importlib.util
import os
import sys

from . import _place


def main() -> None:
    if _place.in_wheel() and importlib.util.find_spec("torch") is None:
        sys.exit(f"error: drift needs the package torch, which is not installed\n  = pip install torch=={_place.TORCH}")
    os.execve(_place.program()[0], ["drift", *sys.argv[1:]], _place.environment())
