"""The runs of tests/frozen/compare: short, on one thread, of the small models that ship."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from results import renamed

ALGORITHMS = ["agrpo", "bgpo", "coupled_grpo", "d1", "d2", "espo", "gdpo", "mdpo", "rldf", "spg", "tracerl", "unigrpo",
              "vrpo", "wd1"]

SETTINGS = {
    "run.name": "frozen", "run.seed": 5, "run.threads": 1,
    "task.name": "sudoku", "task.prompt": "raw", "task.blanks_low": 7, "task.blanks_high": 10,
    "reward.name": "sudoku", "reward.answer": "raw", "reward.score": "cells", "reward.truncation_is_wrong": False,
    "rollout.name": "block", "rollout.length": 20, "rollout.block": 5, "rollout.steps": 20, "rollout.temperature": 2.0,
    "filter.success_low": 0.0, "filter.success_high": 1.0,
    "train.steps": 2, "train.prompts_per_step": 6, "train.group_size": 6, "train.inner_iterations": 2,
    "train.learning_rate": 1e-3, "train.checkpoint_every": 2,
    "train.memory_budget_mib": 1024,
    "evaluation.items": 8, "evaluation.every": 2, "evaluation.rollout.temperature": 0.0,
}
ADAPTER = {"adapter.kind": "lora", "adapter.rank": 4, "adapter.alpha": 8, "adapter.dropout": 0.1}


class Failed(Exception):
    """A run did not end as it should."""


class Skipped(Exception):
    """A run cannot be done here."""


class Side:
    """One of the programs. It works in a folder of its own, with copies of the models: all its paths are relative."""

    def __init__(self, name, build, folder, changes):
        self.name, self.build, self.folder, self.changes = name, build.resolve(), folder, changes
        cache = self.build / "CMakeCache.txt"
        if not cache.exists() or not (self.build / "bin/drift").exists():
            sys.exit(f"compare: {build} is not a finished build")
        tree = Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read_text(), re.MULTILINE)[1])
        for family in ("llada", "dream"):
            shutil.copytree(tree / f"assets/sudoku-{family}", folder / family)

    def write_settings(self, run, settings):
        named = settings if self.name == "BASE" else renamed("settings", settings)
        values = {**named, **self.changes}
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items() if value is not None]
        (self.folder / f"{run}.toml").write_text("".join(lines))

    def start(self, *arguments, launcher=()):
        environment = {name: value for name, value in os.environ.items() if name != "DRIFT_PLUGIN_PATH"}
        return subprocess.Popen([*launcher, str(self.build / "bin/drift"), *arguments], cwd=self.folder, text=True,
                                env={**environment, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def drift(self, *arguments, launcher=()):
        process = self.start(*arguments, launcher=launcher)
        lines = process.communicate()[1].splitlines()
        if process.returncode != 0:
            message = next((line for line in lines if "error" in line), lines[-1] if lines else "no message")
            raise Failed(f"status {process.returncode}: {message.strip()}")


# ---- the runs: each fills the folder NAME of its side ----------------------------------------------------------------


def train(side, name):
    side.drift("train", f"{name}.toml", "--out", name)


def kill_and_resume(side, name):
    process = side.start("train", f"{name}.toml", "--out", name)
    while process.poll() is None and not (side.folder / name / "checkpoints/last").exists():
        time.sleep(0.002)
    process.kill()
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        raise Failed(f"status {process.returncode} before it could be killed")
    side.drift("train", f"{name}.toml", "--out", name, "--resume")


def train_on_ranks(count):
    def do(side, name):
        if shutil.which("mpirun") is None:
            raise Skipped("there is no mpirun")
        if not (side.build / "lib/libdrift_mpi.so").exists():
            raise Skipped(f"{side.build} is built without MPI")
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", *as_root, "-n", str(count)]
        side.drift("train", f"{name}.toml", "--out", name, launcher=launcher)
    return do


def evaluate(side, name):
    side.drift("eval", "llada", "--config", f"{name}.toml", "--out", name)


def sweep(side, name):
    side.drift("sweep", f"{name}.toml", "--out", name)


def all_runs():
    """Name -> (what is done, the settings)."""
    runs = {}

    def add(name, changes=None, do=train, algorithm="rldf", family="llada"):
        model = {"model.name": family, "model.path": family, "algorithm.name": algorithm}
        runs[name] = (do, {**model, **SETTINGS, **(changes or {})})

    for family in ("llada", "dream"):
        for algorithm in ALGORITHMS:
            add(f"{algorithm}-{family}", algorithm=algorithm, family=family)
        for cache in ("none", "prefix", "dual"):
            add(f"block-{cache}-{family}", {"rollout.cache": cache}, family=family)
        add(f"diffusion-{family}", {"rollout.name": "diffusion", "rollout.block": None}, family=family)
    with_reference = {"algorithm.loss.beta": 0.1}
    add("adapters", ADAPTER, algorithm="d1")
    add("nf4", {**ADAPTER, "model.quantize": "nf4"})
    add("bfloat16", {"model.dtype": "bfloat16"})
    add("value-model", {"value.enabled": True, "value.learning_rate": 1e-3}, algorithm="tracerl")
    add("offload", {**with_reference, "reference.offload": True})
    add("killed-and-resumed", {**with_reference, "train.steps": 24, "train.learning_rate": 1e-4}, do=kill_and_resume)
    for count in (1, 3):
        add(f"ranks-{count}", with_reference, do=train_on_ranks(count))
    add("eval", do=evaluate)
    add("sweep", {"sweep.seeds": [1, 2], "sweep.grid.algorithm.masking.k": [1, 2]}, do=sweep)
    return runs


def recorded_runs():
    """One update by one group each: another processor's rounding has no second step to grow in, and no gradients of
    several groups that cancel except for their rounding."""
    runs = all_runs()
    single = {"run.seed": 8, "train.steps": 1, "train.inner_iterations": 1, "train.prompts_per_step": 1}
    names = ("rldf-llada", "espo-llada", "tracerl-dream", "adapters")
    return {name: (train, {**runs[name][1], **single}) for name in names}
