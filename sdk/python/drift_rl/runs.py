"""Runs and their files."""

from __future__ import annotations

import html
import importlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence, Union

from drift import Error

from ._place import environment, program

PathLike = Union[str, "os.PathLike[str]"]


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Nested values by their names with points: train.steps."""
    for name, value in values.items():
        yield from flat(value, f"{before}{name}.") if isinstance(value, Mapping) else [(before + name, value)]


def error_of(said: str, status: int = 1) -> Error:
    """What the program says before it ends with this status."""
    text = said.partition("error: ")[2].rstrip() or f"drift has ended with status {status}"
    what, *hints = re.split(r"\n += ", text)
    return Error(what, "\n".join(hints))


def _drift(*arguments: str) -> str:
    made = subprocess.run([*program(), *arguments], env=environment(), capture_output=True, encoding="utf-8")
    if made.returncode != 0:
        raise error_of(made.stderr, made.returncode)
    return made.stdout


class Run:
    """The folder of a run, finished or not."""

    def __init__(self, path: PathLike):
        self.path = Path(path).absolute()
        if not (self.path / "config.toml").is_file():
            raise Error(f"{path} is not the folder of a run: it has no config.toml", "drift_rl.runs(folder) finds runs")

    @property
    def metrics(self) -> Any:
        """A row for each step and a column for each name of `drift reference metrics`; NaN where there is no value. A
        frame of pandas if that is installed, else a dict of NumPy arrays."""
        try:
            import numpy
        except ImportError:
            raise Error("this Python has no NumPy, in whose arrays metrics are", "pip install numpy") from None
        rows = self._steps()[0]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: numpy.array([row.get(name, math.nan) for row in rows]) for name in names}
        try:
            return importlib.import_module("pandas").DataFrame(columns)
        except ImportError:
            return columns

    @property
    def config(self) -> dict[str, Any]:
        """Every value of the run, in its sections."""
        try:
            toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
        except ImportError:
            raise Error("this Python reads no TOML", "pip install tomli") from None
        return dict(toml.loads((self.path / "config.toml").read_text("utf-8")))

    def responses(self, step: int) -> list[dict[str, Any]]:
        """What the run has kept of a step's responses ([report] inspect_every): the fields of inspect/ (docs/runs.md),
        those of their group too, and the tokens' text as `response`."""
        kept = {int(file.stem[5:]): file for file in sorted(self.path.glob("inspect/step-*.json"))}
        if step not in kept:
            raise Error(f"responses of step {step} are not kept", f"report.inspect_every; there are {list(kept)}")
        groups = json.loads(kept[step].read_text("utf-8"))["groups"]
        asked = [(group, one) for group in groups for one in group.pop("responses")]
        return [{**group, **one, "response": "".join(one["tokens"])} for group, one in asked]

    def checkpoint(self, name: str = "last") -> Path:
        """The folder of a checkpoint: "last", "step-000050", or with train.keep_best "best", once a step's
        evaluation has surpassed that before the first one."""
        kept = {file.name: file for file in self.path.glob("checkpoints/*") if (file / "config.json").exists()}
        if name not in kept:
            hint = f"it has: {', '.join(sorted(kept)) or 'none'}"
            if name == "best":
                hint += "; `best` needs train.keep_best, and a step that surpasses the evaluation before the first one"
            raise Error(f"{self.path} has no checkpoint `{name}`", hint)
        return kept[name].resolve()

    def report(self) -> Path:
        """Makes the run's page anew."""
        _drift("report", str(self.path))
        return self.path / "report.html"

    def _steps(self, begin: int = 0) -> tuple[list[dict[str, Any]], int]:
        """The whole lines of metrics.jsonl from this byte on, NaN for null, and where they end."""
        file = self.path / "metrics.jsonl"
        if not file.exists():
            return [], begin
        with open(file, "rb") as opened:
            opened.seek(begin)
            lines = [line for line in opened if line.endswith(b"\n")]
        rows = [flat(json.loads(line)) for line in lines]
        made = [{name: math.nan if value is None else value for name, value in row} for row in rows]
        return made, begin + sum(map(len, lines))

    def _facts(self) -> dict[str, str]:
        listed = json.loads(_drift("runs", str(self.path), "--json"))
        return {name: str(value) for name, value in listed.items() if value is not None}

    def __repr__(self) -> str:
        return f"<drift_rl.Run {', '.join(map(' '.join, self._facts().items()))}>"

    def _repr_html_(self) -> str:
        """For a notebook: a table, and the rewards as a line."""
        facts = self._facts().items()
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(fact)}</td></tr>" for name, fact in facts)
        rewards = [row["reward"] for row in self._steps()[0] if not math.isnan(row["reward"])]
        width, low, high = 400 / max(1, len(rewards) - 1), min([0, *rewards]), max([1, *rewards])
        points = [f"{i * width:.1f},{98 - 96 * (y - low) / (high - low):.1f}" for i, y in enumerate(rewards)]
        line = f'<polyline points="{" ".join(points)}" fill="none" stroke="steelblue"/>'
        return f'<table>{cells}</table><svg width="400" height="100">{line}</svg>'


def runs(folder: PathLike = "runs") -> list[Run]:
    """The runs in a folder, those of its sweeps too, the newest first: as `drift runs` lists them."""
    return [Run(json.loads(line)["folder"]) for line in _drift("runs", str(folder), "--json").splitlines()]


Side = Union[Run, PathLike, Sequence[Union[Run, PathLike]]]


class Comparison(dict[str, Any]):
    """The numbers of the program's --json; prints as its tables."""

    def __repr__(self) -> str:
        return str(self["text"])


def compare(a: Side, b: Side) -> Comparison:
    """Differences of b to a and their paired tests. Folders of evaluations (--out) are compared item by item, as by
    `drift eval diff`; runs seed by seed, as by `drift report`: a run, a list of runs of several seeds, or a folder of
    them, such as a sweep's. Only seeds that both sides have make pairs."""
    both = [[side] if isinstance(side, (str, os.PathLike, Run)) else list(side) for side in (a, b)]
    sides = [[str(one.path if isinstance(one, Run) else one) for one in side] for side in both]
    if not all(sides):
        raise Error("there is nothing to compare: a side is empty", "a run, a list of runs, or a folder for each")
    with tempfile.TemporaryDirectory() as folder:
        if all(os.path.isfile(path) or os.path.exists(f"{path}/cells.csv") for side in sides for path in side):
            command = ["eval", "diff", *(path for side in sides for path in side)]
        else:
            command = ["report", *(f"{os.path.relpath(side[0])}={path}" for side in sides for path in side)]
            command += ["--out", folder]
        numbers = json.loads(_drift(*command, "--json"))
        numbers.pop("folder", None)
        return Comparison(numbers, text=_drift(*command).split(f"\n{folder}")[0].rstrip())
