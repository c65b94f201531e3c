"""Training, by the program as a child of this process."""

from __future__ import annotations

import difflib
import importlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Union

from drift import Error

from ._core import setting
from ._place import environment, prefix, program
from ._remote_reward import Function, answer
from .rewards import Judge
from .runs import PathLike, Run, error_of, flat

Config = Union[PathLike, Mapping[str, Any]]
OnStep = Callable[[dict[str, Any]], Any]


def _toml(name: str, value: Any) -> str:
    """What JSON writes of a setting is TOML, but for inf and DEL."""
    value = setting(name, value)
    if isinstance(value, list):
        return f"[{', '.join(_toml(name, element) for element in value)}]"
    return str(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _file(config: Config, folder: str) -> str:
    """The file of a configuration; that of a dict is written into the folder."""
    if isinstance(config, Mapping):
        extended = [one if one.startswith("drift:") else _file(one, folder) for one in config.get("extends", [])]
        settings = {**dict(flat(config)), "extends": extended, "paths_from": os.getcwd()}
        file = Path(folder, "config.toml")
        file.write_text("".join(f"{key} = {_toml(key, value)}\n" for key, value in settings.items()), "utf-8")
        return str(file)
    shipped = prefix() / "share" / "drift" / "configs"
    for file in (Path(config), shipped / f"{config}.toml"):
        if file.is_file():
            return str(file.absolute())
    names = [str(file.relative_to(shipped))[:-5] for file in shipped.rglob("*.toml")]
    near = difflib.get_close_matches(str(config), names, 1) or ["quickstart"]
    raise Error(f"there is no configuration `{config}`", f'a file, a dict, or the name of a shipped file: "{near[0]}"')


def _notebook_line() -> Optional[Callable[[str], None]]:
    """In a notebook: shows a text in the place of the one before."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:
        return None
    shown = importlib.import_module("IPython.display").display({"text/plain": "starting"}, raw=True, display_id=True)
    return lambda text: shown.update({"text/plain": text}, raw=True)


class _Training:
    """`drift train`, until it has ended."""

    def __init__(self, arguments: list[str], on_step: Optional[OnStep], function: Optional[Function]):
        self.on_step, self.function, self.line = on_step, function, _notebook_line()
        self.run: Optional[Run] = None  # when the program has said its folder
        self.steps, self.step, self.read = sys.maxsize, -1, 0  # all, the last one, bytes of metrics.jsonl
        self.began: Optional[tuple[int, float]] = None  # the first step that is seen here, and when
        self.rest, self.error = b"", ""  # the beginning of a line, and the error that the program ends with
        self.stopped = False
        self.raised: Optional[BaseException] = None
        self.questions, questions = multiprocessing.Pipe()
        given = {"DRIFT_PARENT": str(os.getpid()), **({"DRIFT_REWARD": str(questions.fileno())} if function else {})}
        self.child = subprocess.Popen(
            [*program(), "train", *arguments], env={**environment(), **given}, pass_fds=[questions.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C comes to this process alone, which tells it once
            restore_signals=False,  # SIGPIPE: it saves before it ends with this process
        )  # fmt: skip
        questions.close()

    def follow(self) -> Run:
        handles = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, lambda *_: self.stop(KeyboardInterrupt())) if handles else None
        with self.child, self.questions:
            try:
                while self.look():
                    pass
            except BaseException:
                self.child.kill()
                raise
            finally:
                if handles:
                    signal.signal(signal.SIGINT, before)
        if self.raised is not None:
            raise self.raised
        if self.run is None or self.child.returncode not in (0, 130 if self.stopped else 0):
            raise error_of(self.error, self.child.returncode)
        return self.run

    def stop(self, raised: Optional[BaseException] = None) -> None:
        """The run ends after its step; a second Ctrl-C does not wait for that."""
        if self.stopped and isinstance(raised, KeyboardInterrupt):
            raise raised
        self.stopped, self.raised = True, self.raised or raised
        if self.step < self.steps:  # while the run closes, a signal would keep it from its report
            self.child.send_signal(signal.SIGINT)

    def look(self) -> bool:
        """At what there is of output, questions and steps. False at the end."""
        assert self.child.stdout is not None
        output = self.child.stdout.fileno()
        ready = wait([output, self.questions], 0.1)
        if ready == [self.questions]:
            self.raised = (answer(self.questions, self.function) if self.function else None) or self.raised
            return True
        data = os.read(output, 1 << 16) if output in ready else None
        *lines, self.rest = (self.rest + (data or b"")).split(b"\n")
        for line in lines:
            self.on_line(line.decode(errors="replace"))
        made, self.read = self.run._steps(self.read) if self.run else ([], 0)
        for metrics in made:
            self.on_metrics(metrics)
        return data != b""

    def on_line(self, line: str) -> None:
        header = re.fullmatch(r"drift \S+ (?:·|\|) .* (?:·|\|) run (.+)", line)
        if header and self.run is None:
            self.run = Run(header[1])
            config = (self.run.path / "config.toml").read_text("utf-8")
            self.steps = int(re.findall(r"^\[train\]\nsteps += (\d+)", config, re.MULTILINE)[0])
        if self.error or line.startswith("error: "):
            self.error += line + "\n"  # which is raised
        elif self.line is None or line.startswith("warning: "):
            print(line, flush=True)

    def on_metrics(self, metrics: dict[str, Any]) -> None:
        self.step = metrics["step"]
        if self.line is not None:
            first, at = self.began = self.began or (self.step, time.monotonic())
            pace = (time.monotonic() - at) / max(1, self.step - first)
            left = f"{timedelta(seconds=round(pace * (self.steps - self.step)))} left" if self.step > first else ""
            self.line(f"step {self.step} of {self.steps}   reward {metrics['reward']:.3f}   {left}")
        try:
            go_on = self.on_step(metrics) if self.on_step and not self.stopped else None
            if type(go_on).__name__ in ("bool", "bool_") and not go_on:  # NumPy's, too
                self.stop()
        except BaseException as raised:
            self.stop(raised)


def train(
    config: Config,
    on_step: Optional[OnStep] = None,
    *,
    out: Optional[PathLike] = None,
    overwrite: bool = False,
    reward: Union[Function, Judge, Mapping[str, Any], None] = None,
    **overrides: Any,
) -> Run:
    """Trains as `drift train` does, by that program, to the same numbers. Raises drift.Error.

    config: a file, the name of a shipped one ("quickstart", "algorithms/rldf"), or a dict of what a file has, whose
    paths are relative to the working folder. overrides: keys, as train={"steps": 5} or **{"train.steps": 5}. out: the
    run's folder, where `overwrite` replaces what is there. on_step(metrics): called after each step, and with step 0
    after the evaluation before the first one; training goes on meanwhile. If it returns False, the run ends after the
    step that it is at. What it raises ends the run likewise and is raised here. So does Ctrl-C. reward: a function of
    this process, reward(response, reference) -> a number from 0 to 1, of which 1 is solved. What it raises ends the run
    with an error and is raised here. Or one of Drift's: drift_rl.reward("math"), or a dict of [reward].
    """
    if on_step is not None and not callable(on_step):
        raise Error(f"`on_step` is {on_step!r}", "a function of the metrics, a dict: def on_step(metrics): …")
    if isinstance(reward, Judge):
        overrides, reward = {**overrides, **reward.settings}, None
    if not (reward is None or callable(reward) or isinstance(reward, Mapping)):
        raise Error(f"`reward` is {reward!r}", 'a function, or one of Drift\'s: reward={"name": "sudoku"}')
    settings = dict(flat({**overrides, "reward": reward} if isinstance(reward, Mapping) else overrides))
    function = reward if callable(reward) else None
    if function is not None:
        file = Path(__file__).with_name("_remote_reward.py")
        settings.update({"reward.name": "python", "reward.file": f"{file}:RemoteReward"})
    options = ["--overwrite"] * overwrite + ([] if out is None else ["--out", os.fspath(out)])
    with tempfile.TemporaryDirectory(prefix="drift-") as folder:
        changes = [f"--set={key}={_toml(key, value)}" for key, value in settings.items()]
        return _Training([_file(config, folder), *changes, *options], on_step, function).follow()
