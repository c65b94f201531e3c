"""What every component has: parameters, errors, and the program that runs it."""

from __future__ import annotations

import difflib
from typing import Any, Sequence

from .random import RandomStream


class Error(Exception):
    """An error that the user can act on. Drift prints it without a traceback.

    what: what is wrong, with the value. hint: what to do.
    """

    def __init__(self, what: str, hint: str = ""):
        super().__init__(what)
        self.what, self.hint = what, hint

    def __str__(self) -> str:
        return f"{self.what}\n  = {self.hint}" if self.hint else self.what


class Parameter:
    """A declared parameter; parameter() makes it."""

    def __init__(self, default: Any, doc: str, type_name: str, interval: tuple[Any, ...], choices: Sequence[str], is_path: bool):
        self.default = default
        self.doc = doc
        self.type_name = type_name  # "bool", "int", "float", "str", "list of str", "list of int" or "list of float"
        self.interval = interval  # minimum, maximum, whether these are excluded, whether inf is allowed
        self.choices = tuple(choices)
        self.is_path = is_path


def _type_name(default: Any, of: type | None) -> str:
    if not isinstance(default, list):
        return type(default).__name__
    element = of or (type(default[0]) if default else None)
    if element is None:
        raise TypeError("the type of an empty list is not known: parameter([], …, of=float)")
    return "list of " + element.__name__


def parameter(
    default: Any,
    doc: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    infinite: bool = False,
    choices: Sequence[str] = (),
    path: bool = False,
    of: type | None = None,
) -> Any:
    """Declares a parameter, as an attribute of a component's class:

        width = drift.parameter(4.0, "curvature of the weight", minimum=0)

    The type is that of the default: bool, int, float, str, or a list of texts, integers or numbers (`of` for an empty
    one). `doc` is one line without a full stop. `minimum` and `maximum` belong to the range, `above` and `below` do
    not; `infinite` also allows inf. `choices` are the texts that are allowed. A `path` is relative to the TOML file that
    names it, and absolute in the component. In an object the attribute is the value.
    """
    name = _type_name(default, of)
    if name not in ("bool", "int", "float", "str", "list of str", "list of int", "list of float"):
        raise TypeError(f"a parameter cannot be of type {name}: bool, int, float, str or a list can")
    low = above if above is not None else minimum
    high = below if below is not None else maximum
    bounds = (
        float("-inf") if low is None else float(low),
        float("inf") if high is None else float(high),
        above is not None,
        below is not None,
        infinite,
    )
    return Parameter(default, doc, name, bounds, choices, path)


class _Alone:
    """Stands for the program where there is none, in a unit test: logs nothing, counts nothing."""

    def log(self, text: str) -> None:
        pass

    def warn_once(self, text: str) -> None:
        pass

    def metric(self, name: str, total: float, count: float) -> None:
        pass

    def random_key(self, name: str) -> int:
        return RandomStream(0, name).key


class Component:
    """Base of every kind. A component is made once for a run, with the run's values: `SoftClip(width=2.0)`."""

    _host: Any = _Alone()

    def __init__(self, **values: Any):
        declared = self.parameters()
        for name in values:
            if name not in declared:
                near = difflib.get_close_matches(name, declared, 1)
                hint = f", did you mean `{near[0]}`?" if near else ""
                raise TypeError(f"{type(self).__name__} has no parameter `{name}`{hint}")
        for name, declaration in declared.items():
            setattr(self, name, values.get(name, declaration.default))

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The declared parameters, those of base classes first."""
        found: dict[str, Parameter] = {}
        for base in reversed(cls.__mro__):
            found.update({name: value for name, value in vars(base).items() if isinstance(value, Parameter)})
        return found

    def log(self, text: str) -> None:
        """A line in the run's log.txt."""
        self._host.log(text)

    def warn_once(self, text: str) -> None:
        """A warning in the log and on the terminal, the first time that this text is given."""
        self._host.warn_once(text)

    def metric(self, name: str, total: float, count: float = 1) -> None:
        """A number for metrics.jsonl, as `python/name`: total / count, each added up over the training step."""
        self._host.metric(name, float(total), float(count))

    def random(self, name: str) -> RandomStream:
        """A stream that depends on the run's seed and on `name`."""
        return RandomStream.of_key(self._host.random_key(name))
