"""The command `drift`, which becomes the program."""

import os
import sys

from . import _place


def main() -> None:
    own = _place.environment()
    if "LD_LIBRARY_PATH" not in own and not (_place.prefix() / ".." / "torch" / "lib" / "libtorch_cpu.so").is_file():
        sys.exit(f"error: drift needs the package torch, which is not installed\n  = pip install torch=={_place.TORCH}")
    program = _place.program()
    os.execve(program[0], ["drift", *sys.argv[1:]], own)
