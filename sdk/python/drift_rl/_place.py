"""Where Drift is installed, and the package `drift` beside this one."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

TORCH = "2.11.0"


def prefix() -> Path:
    """The folder of bin/drift and lib/libdrift_program.so: this package's own in a wheel, else one above it."""
    own = Path(os.path.abspath(__file__)).parent
    for folder in (own, *own.parents):
        if (folder / "lib" / "libdrift_program.so").exists():
            return folder
    raise ImportError(f"{own} belongs to no installed Drift: there is no lib/libdrift_program.so above it")


def in_wheel() -> bool:
    return (prefix() / "__init__.py").exists()


def program() -> list[str]:
    """The command `drift`, as a child of this process is to be started."""
    return [str(prefix() / "bin" / "drift")]


def environment() -> dict[str, str]:
    """Of such a child: that of a wheel finds LibTorch in the package torch; components in Python have this Python."""
    own = dict(os.environ)
    own.setdefault("DRIFT_PYTHON", sys.executable)
    if in_wheel() and not (prefix() / ".." / "torch" / "lib" / "libtorch_cpu.so").is_file():
        found = importlib.util.find_spec("torch")
        folders = found.submodule_search_locations if found else None
        if folders:
            libraries = os.path.join(os.path.realpath(folders[0]), "lib")
            own["LD_LIBRARY_PATH"] = ":".join(filter(None, [libraries, own.get("LD_LIBRARY_PATH")]))
    return own


def import_drift() -> None:
    """Makes `import drift` give the package of components in Python, the same that files of components import."""
    folder = str(prefix() / "share" / "drift" / "sdk" / "python")
    sys.path.insert(0, folder)  # before another project's `drift`
    module = importlib.import_module("drift")
    origin = os.path.realpath(module.__file__ or "")
    if not origin.startswith(os.path.realpath(folder) + os.sep):
        raise ImportError(
            f"the package `drift` of {origin} is another project's: drift_rl needs its own of that name; "
            "uninstall the other one, or import drift_rl first"
        )


def main() -> None:
    """The command `drift`: this process becomes the program."""
    if in_wheel() and importlib.util.find_spec("torch") is None:
        sys.exit(f"error: drift needs the package torch, which is not installed\n  = pip install torch=={TORCH}")
    os.execve(program()[0], ["drift", *sys.argv[1:]], environment())
