"""Drift's libraries in this process: loaded at the first use, beside the LibTorch of the package torch."""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Callable, Optional

from drift import Error

from ._place import TORCH, prefix

_functions: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = bool(_functions)


def need_torch() -> None:
    try:
        import torch
    except ImportError as missing:
        raise Error(f"drift_rl needs the package torch: {missing}", f"pip install torch=={TORCH}") from None
    if torch.__version__.split("+")[0] != TORCH:
        from . import __version__

        raise Error(
            f"drift_rl {__version__} works with torch {TORCH}, and this is torch {torch.__version__}",
            f"pip install torch=={TORCH}",
        )


def _load() -> None:
    need_torch()
    library = ctypes.PyDLL(str(prefix() / "lib" / "libdrift_program.so"))
    library.drift_python_functions.restype = ctypes.py_object
    _functions.update(library.drift_python_functions())
    os.register_at_fork(after_in_child=_after_fork)


def call(name: str, *arguments: Any) -> Any:
    """A function of core/cli/python. Raises drift.Error."""
    if _forked:
        raise Error(
            "this process was forked from one in which Drift's libraries were in use: their threads are not in it",
            'start processes by "spawn": multiprocessing.get_context("spawn")',
        )
    if not _functions:
        with _lock:
            if not _functions:
                _load()
    good, *result = _functions[name](*arguments)
    if not good:
        raise Error(*result)
    return result[0]


def interruptible(name: str, *arguments: Any, cancel: Optional[Callable[[], Any]] = None) -> Any:
    """call() of something that takes long: Ctrl-C stops the wait, after `cancel` has been asked to end the work."""
    if threading.current_thread() is not threading.main_thread():
        return call(name, *arguments)
    with ThreadPoolExecutor(1, thread_name_prefix="drift_rl") as worker:
        work = worker.submit(call, name, *arguments)
        try:
            while True:
                try:
                    return work.result(timeout=0.1)
                except NotYet:
                    if work.done():
                        raise
        except KeyboardInterrupt:
            if cancel is not None:
                cancel()
            raise


def check(name: str, tensor: Any, like: Any, shape: tuple[int, ...]) -> None:
    """Refuses a tensor of another shape, or of another type or device than `like`."""
    if tensor.shape != shape or tensor.dtype != like.dtype or tensor.device != like.device:
        found = f"{list(tensor.shape)} of {tensor.dtype} on {tensor.device}"
        raise Error(f"`{name}` is {found}, not {list(shape)} of {like.dtype} on {like.device}")


# ---- what crosses ----------------------------------------------------------------------------------------------------


def items(values: dict[str, Any]) -> tuple[tuple[str, str, Any], ...]:
    """Settings with their types, as module.cpp reads them."""

    def one(name: str, value: Any) -> tuple[str, str, Any]:
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, (list, tuple)):
            kinds = {type(element).__name__ for element in value} or {"str"}
            kind = "float" if kinds == {"int", "float"} else kinds.pop() if len(kinds) == 1 else "mixed"
            if kind in ("str", "int", "float"):
                return name, f"list of {kind}", tuple(value)
        elif type(value) in (bool, int, float, str):
            return name, type(value).__name__, value
        raise Error(f"`{name}` is {value!r}", "a setting is a bool, an int, a float, a str, or a list of one of these")

    return tuple(one(name, value) for name, value in values.items())
