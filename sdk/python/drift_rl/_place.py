"""Where Drift is installed, and the package `drift` beside this one."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path

TORCH = "2.11.0"
INSTALL_TORCH = f"pip install torch=={TORCH}"


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


@functools.cache
def need_torch() -> Path:
    """The folder of the package torch, which is not imported. Raises drift.Error where it is missing or another one."""
    from drift import Error

    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise Error("drift_rl needs the package torch: No module named 'torch'", INSTALL_TORCH)
    folder = Path(os.path.realpath(found.submodule_search_locations[0]))
    file = folder / "version.py"
    said = re.search("__version__ = ['\"](.*?)['\"]", file.read_text("utf-8") if file.exists() else "")
    version = said[1] if said else f"of an unknown version, {folder}"
    if version.split("+")[0] != TORCH:
        from . import __version__

        raise Error(f"drift_rl {__version__} works with torch {TORCH}, and this is torch {version}", INSTALL_TORCH)
    return folder


def environment() -> dict[str, str]:
    """Of such a child: that of a wheel finds LibTorch in the package torch; components in Python have this Python."""
    own = dict(os.environ)
    own.setdefault("DRIFT_PYTHON", sys.executable)
    if in_wheel():
        libraries = str(need_torch() / "lib")
        if not (prefix() / ".." / "torch" / "lib" / "libtorch_cpu.so").is_file():
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
    from drift import Error

    try:
        os.execve(program()[0], ["drift", *sys.argv[1:]], environment())
    except Error as error:
        sys.exit(f"error: {error}")
