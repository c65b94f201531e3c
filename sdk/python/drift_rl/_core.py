"""Drift's libraries in this process: loaded at the first use, beside the LibTorch of the package torch."""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import Future, wait
from typing import Any, Callable, Mapping, Optional

from drift import Error

from . import _place
from .runs import error_of, flat

_functions: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = bool(_functions)


def need_torch() -> None:
    _place.need_torch()
    try:
        import torch  # noqa: F401
    except ImportError as missing:
        raise Error(f"drift_rl needs the package torch: {missing}", _place.INSTALL_TORCH) from None


def _load() -> None:
    need_torch()
    library = ctypes.PyDLL(str(_place.prefix() / "lib" / "libdrift_program.so"))
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
        raise error_of(result[0]) if result[0].startswith("error: ") else Error(*result)
    return result[0]


def interruptible(name: str, *arguments: Any, cancel: Optional[Callable[[], Any]] = None) -> Any:
    """call() of something that takes long. Ctrl-C ends it by `cancel`, which is repeated until it has ended; without
    `cancel` KeyboardInterrupt is raised at once, and the work goes on unobserved, until whose end Python does not end.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(name, *arguments)
    work: Future[Any] = Future()

    def run() -> None:
        if work.set_running_or_notify_cancel():
            try:
                work.set_result(call(name, *arguments))
            except BaseException as error:
                work.set_exception(error)

    try:
        threading.Thread(target=run, name="drift_rl").start()  # no daemon: C++ would outlive Python
        return work.result()
    except BaseException:
        while cancel is not None and not work.cancel() and not work.done():
            cancel()
            wait([work], 0.1)
        raise


def check(name: str, tensor: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> None:
    """Refuses a tensor of another shape or type, or on another device."""
    if tensor.shape != shape or tensor.dtype != dtype or tensor.device != device:
        found = f"{list(tensor.shape)} of {tensor.dtype} on {tensor.device}"
        raise Error(f"`{name}` is {found}, not {list(shape)} of {dtype} on {device}")


# ---- what crosses ----------------------------------------------------------------------------------------------------


def setting(name: str, value: Any) -> Any:
    """A setting as plain Python, which may be NumPy's or torch's, or a path."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [setting(name, element) for element in value]
    if (type(value).__module__, type(value).__name__) == ("torch", "device"):
        return str(value)
    if type(value) in (bool, int, float, str):
        return value
    hint = "leave out the key" if value is None else "a setting is a bool, an int, a float, a str, or a list of these"
    raise Error(f"{value!r} is not a setting: `{name}`", hint)


def items(values: Mapping[str, Any]) -> tuple[tuple[str, str, Any], ...]:
    """Settings with their types, as module.cpp reads them."""

    def one(name: str, value: Any) -> tuple[str, str, Any]:
        value = setting(name, value)
        if not isinstance(value, list):
            return name, type(value).__name__, value
        kinds = {type(element).__name__ for element in value} or {"str"}
        kind = "float" if kinds == {"int", "float"} else " and ".join(kinds)
        if kind not in ("str", "int", "float"):
            raise Error(f"`{name}` is {value!r}", "a list is of str, of int, or of float")
        return name, f"list of {kind}", tuple(value)

    return tuple(one(name, value) for name, value in flat(values))
