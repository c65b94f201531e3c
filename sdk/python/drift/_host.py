"""What Drift's plugin `python` calls. Not for components."""

from __future__ import annotations

import difflib
import importlib.abc
import importlib.machinery
import os
import re
import sys
import traceback
import types
from typing import Any, Optional

from . import component, tensors, texts
from .component import Component, Error
from .random import RandomStream

KINDS = {
    "loss": tensors.Loss,
    "masking strategy": tensors.Masking,
    "reward": texts.Reward,
    "task": texts.Task,
}
_COUPLINGS = ("view", "response", "batch")
_REFRESHES = ("once_per_rollout", "each_inner_iteration")

_files: dict[str, types.ModuleType] = {}
_libtorch = _libtorch_version = ""


# ---- torch -----------------------------------------------------------------------------------------------------------


def attach(library: str, version: str) -> None:
    """library: the libtorch_cpu.so of this process, of this version."""
    global _libtorch, _libtorch_version
    _libtorch, _libtorch_version = library, version


def start(library: str, version: str) -> None:
    """The same in a Python that Drift has started."""
    attach(library, version)
    sys.meta_path.insert(0, _TorchGuard())
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)  # Python is never finalized, so nothing else would flush them


def _begin(path: str) -> tuple[int, bytes]:
    with open(path, "rb") as file:
        return os.fstat(file.fileno()).st_size, file.read(1 << 20)


def _found_torch() -> tuple[str, str, str]:
    """Version and folder of the torch that an import would find, and why it is refused; each may be empty."""
    spec = importlib.machinery.PathFinder.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return "", "", f"it has no package torch: losses and masking strategies need torch {_libtorch_version}"
    folder = list(spec.submodule_search_locations)[0]
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        version = re.search(r"__version__ = '([^']*)'", file.read())
    name = version.group(1) if version else "of an unknown version"
    if name.split("+")[0] != _libtorch_version:
        return name, folder, f"torch {name} of {folder} is not the LibTorch {_libtorch_version} of this Drift"
    library = os.path.join(folder, "lib", "libtorch_cpu.so")
    if not os.path.samefile(library, _libtorch) and _begin(library) != _begin(_libtorch):
        return name, folder, f"torch {name} of {folder} is another build than this Drift's LibTorch, {_libtorch}"
    return name, folder, ""


class _TorchGuard(importlib.abc.MetaPathFinder):
    """Refuses a torch that would load a second LibTorch, before any of its code runs."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "torch":
            version, _, refusal = _found_torch()
            if version and refusal:
                raise ImportError(refusal, name="torch")


def _need_torch() -> None:
    refusal = _found_torch()[2]
    if not refusal:
        import torch  # noqa: F401

        with open("/proc/self/maps", encoding="utf-8") as file:
            copies = {line.split()[-1] for line in file if line.rstrip().endswith("/libtorch_cpu.so")}
        if len(copies) > 1:
            refusal = "two LibTorch are loaded: " + ", ".join(sorted(copies))
    if refusal:
        raise Error(f"the Python {sys.executable} cannot share tensors: {refusal}", _torch_remedy())


def _torch_remedy() -> str:
    return (
        f"pip install torch=={_libtorch_version}, or name the Python that has it: DRIFT_PYTHON=venv/bin/python3"
        "    (docs/sdk.md)"
    )


# ---- files and classes -----------------------------------------------------------------------------------------------


def _load(path: str) -> types.ModuleType:
    """The module of a file, which runs once in a process."""
    path = os.path.abspath(path)
    if path in _files:
        return _files[path]
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise Error(f"{path} cannot be read: {error.strerror}", 'file = "my_loss.py:MyLoss"') from None
    code = compile(source, path, "exec")
    stem = os.path.splitext(os.path.basename(path))[0]
    module = types.ModuleType(f"drift_file_{len(_files)}_{stem}")
    module.__file__ = path
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)  # for modules beside the file; last, so that none hides a module of Python
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    _files[path] = module
    return module


def _split(spec: str) -> tuple[str, str]:
    """ "my_loss.py:SoftClip": the file and the class; no class where the file alone is named."""
    path, colon, name = spec.rpartition(":")
    return (path, name) if colon and not os.path.exists(spec) else (spec, "")


def _class(kind: str, spec: str) -> type[Component]:
    base = KINDS[kind]
    path, name = _split(spec)
    module = _load(path)
    declared = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Component) and value.__module__ == module.__name__
    }
    found = {key: value for key, value in declared.items() if issubclass(value, base)}
    expected = f"class {name or 'MyClass'}(drift.{base.__name__})"
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if not name:
        several = f"declares several: {', '.join(found)}" if found else "declares none"
        raise Error(f"{path} {several}, and `file` names no {kind}", f'"{os.path.basename(path)}:NAME"; {expected}')
    if name in found:
        return found[name]
    if hasattr(module, name):
        raise Error(f"`{name}` of {path} is not a {kind}", expected)
    near = difflib.get_close_matches(name, declared, 1)
    has = ", ".join(f"{key} ({_kind(value)})" for key, value in declared.items())
    hint = f"did you mean `{near[0]}`?" if near else f"it has: {has}" if has else expected
    raise Error(f"{path} has no {kind} `{name}`", hint)


def _kind(cls: type[Component]) -> str:
    return next((kind for kind, base in KINDS.items() if issubclass(cls, base)), "component")


def _chosen(cls: Any, attribute: str, choices: tuple[str, ...]) -> int:
    value = getattr(cls, attribute, None)
    if value not in choices:
        name = cls.__name__ if isinstance(cls, type) else type(cls).__name__
        said = "is not declared" if value is None else f"is {value!r}"
        raise Error(f"{name}.{attribute} {said}", "one of " + ", ".join(f'"{choice}"' for choice in choices))
    return choices.index(value)


def _facts(kind: str, owner: Any) -> tuple[int, ...]:
    """What the core asks a component once, as numbers."""
    if kind == "loss":
        coupling = _chosen(owner, "coupling", _COUPLINGS)
        for name in owner.needs:
            if name not in ("old", "reference", "entropy"):
                raise Error(f"{owner.needs!r} are not the needs of a loss", 'of "old", "reference", "entropy"')
        return (coupling, *(int(name in owner.needs) for name in ("old", "reference", "entropy")))
    if kind == "masking strategy":
        return (_chosen(owner, "refresh", _REFRESHES),)
    return ()


def _sentence(kind: str, cls: type[Component]) -> str:
    """The first line of the docstring, and what else the class declares."""
    lines = (cls.__doc__ or "").strip().splitlines()
    sentence = lines[0].strip() if lines else ""
    if not sentence:
        raise Error(f"{cls.__name__} has no docstring", "its first line is the documentation of the component")
    if kind == "loss" and isinstance(cls.coupling, str):
        needs = cls.needs if isinstance(cls.needs, tuple) else ()
        sentence += f" Coupling: {cls.coupling}; needs: {', '.join(('current', *needs))}."
    return sentence


def declare(kind: str, spec: str) -> tuple:
    """The sentence and the parameters of a class: (name, type, default, doc, five bounds, choices, is a path)."""
    cls = _class(kind, spec)
    if not any(isinstance(getattr(cls, name, None), property) for name in ("coupling", "needs", "refresh")):
        _facts(kind, cls)  # what follows from parameters is known with their values
    parameters = [
        (name, p.type_name, p.default, p.doc, p.interval, p.choices, p.is_path) for name, p in cls.parameters().items()
    ]
    return _sentence(kind, cls), parameters


class _Host:
    """The functions of the program that runs the component."""

    def __init__(self, log: Any, warn_once: Any, metric: Any, random_key: Any):
        self.log, self.warn_once, self.metric, self.random_key = log, warn_once, metric, random_key


def create(kind: str, spec: str, values: dict, functions: tuple) -> tuple:
    """The component, and its facts. The values include keys of the core, such as `name`."""
    cls = _class(kind, spec)
    declared = cls.parameters()
    if kind in ("loss", "masking strategy"):
        _need_torch()
    made = cls.__new__(cls)
    made._host = _Host(*functions)
    made.__init__(**{name: value for name, value in values.items() if name in declared})
    return made, _facts(kind, made)


# ---- calls -----------------------------------------------------------------------------------------------------------


def evaluate(loss: tensors.Loss, plan: tuple, fields: dict, totals: tuple) -> tuple:
    lent = tensors.LossInput(plan=tensors.plan_of(plan), totals=tensors.Totals(*totals), **fields)
    value = loss.evaluate(lent)
    _tensor(value, f"{type(loss).__name__}.evaluate()")
    for name, total, count in lent.metrics:
        _tensor(total, f"the sum of metric `{name}`")
        _tensor(count, f"the count of metric `{name}`")
    return value, lent.metrics


def _tensor(value: Any, what: str) -> None:
    import torch

    if not isinstance(value, torch.Tensor):
        raise Error(f"{what} is {_said(value)}, not a tensor", "drift.Loss says what is expected")


def _said(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def plan(strategy: tensors.Masking, trajectories: tuple, key: int, step: int, numbers: Any, rest: tuple) -> tuple:
    made = strategy.plan(
        tensors.MaskingInput(tensors.Trajectories(*trajectories), RandomStream.of_key(key), step, numbers, *rest)
    )
    if not isinstance(made, tensors.Plan):
        raise Error(f"{type(strategy).__name__}.plan() is {_said(made)}, not a drift.Plan", "return drift.Plan(…)")
    for name in tensors.PLAN_FIELDS[:-3]:
        value = getattr(made, name)
        if value is not None or name in tensors.PLAN_FIELDS[:4]:
            _tensor(value, f"the plan's {name}")
    return tensors.plan_fields(made)


def score(reward: texts.Reward, response: str, item: tuple, truncated: bool) -> tuple:
    verdict = reward.score(texts.Request(response, texts.Item(*item), truncated))
    if not isinstance(verdict, texts.Verdict):
        what = f"{type(reward).__name__}.score() is {_said(verdict)}, not a drift.Verdict"
        raise Error(what, "return drift.Verdict(value, solved)")
    solved = bool(verdict.solved)
    status = verdict.status or ("ok" if solved else "wrong")
    if status not in texts.STATUSES:
        raise Error(f"the status of a verdict is {status!r}", "one of " + ", ".join(texts.STATUSES))
    return float(verdict.value), solved, texts.STATUSES.index(status), str(verdict.reason)


def _item(item: Any, call: str) -> tuple:
    if not isinstance(item, texts.Item):
        raise Error(f"{call} is {_said(item)}, not a drift.Item", "drift.Item(id, prompt, reference)")
    return item.id, item.prompt, item.reference, item.demonstration, item.response_prefix


def training_item(task: texts.Task, index: int, key: int) -> tuple:
    return _item(task.training_item(index, RandomStream.of_key(key)), f"{type(task).__name__}.training_item({index})")


def held_out_size(task: texts.Task) -> int:
    return int(task.held_out_size())


def held_out_item(task: texts.Task, index: int) -> tuple:
    return _item(task.held_out_item(index), f"{type(task).__name__}.held_out_item({index})")


# ---- errors ----------------------------------------------------------------------------------------------------------


def describe(error: BaseException) -> tuple[str, str, bool]:
    """What is wrong, what to do, and whether the user can. Of what Python raised: file and line, then the traceback."""
    if isinstance(error, Error):
        return error.what, error.hint, True
    own = os.path.dirname(__file__)
    trace = traceback.TracebackException.from_exception(error)
    part: Optional[traceback.TracebackException] = trace
    while part is not None:
        part.stack[:] = [frame for frame in part.stack if not _is_own(frame.filename, own)]
        part = part.__cause__ or part.__context__
    place = ""
    of_component = [frame for frame in trace.stack if frame.filename in _files] or trace.stack
    if of_component:
        place = f"{os.path.basename(of_component[-1].filename)}:{of_component[-1].lineno}: "
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{os.path.basename(error.filename)}:{error.lineno}: "
    said = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    lines = "".join(trace.format()).rstrip()
    hint = _torch_remedy() if isinstance(error, ImportError) and error.name == "torch" else ""
    return place + said + (f"\n{lines}" if trace.stack or trace.__cause__ or trace.__context__ else ""), hint, hint != ""


def _is_own(filename: str, own: str) -> bool:
    return os.path.dirname(filename) == own or filename.startswith("<frozen")


def python_state() -> str:
    """For `drift doctor`."""
    version, folder, refusal = _found_torch()
    torch = f"torch {version}, {folder}"
    if refusal:
        torch = f"{refusal if folder else 'torch missing'} (needed for losses and masking in Python)"
    return f"Python {sys.version.split()[0]}, {sys.executable}; {torch}"
