#!/usr/bin/env python3
"""Drift from Python against Drift itself, in turn: a loss, with and without its gradient, and a whole run. Five rounds.

    PYTHONPATH=build/release/share/drift/sdk/python tests/python/speed.py

The loss is RLDF's of 8 views of 256 positions, one thread, beside that of forward_bench. The
run is the quickstart's of 20 steps.
"""

import ctypes
import json
import statistics
import subprocess
import tempfile
import timeit

import drift_rl
import torch


torch.set_num_threads(1)
yes = torch.ones(8, 256, dtype=torch.bool)
plan = drift_rl.Plan(torch.arange(8), torch.zeros(8, dtype=torch.int64), yes, yes, terms=1)
current = torch.randn(8, 256).abs().neg().requires_grad_()
before, advantage, loss = current.detach() - 0.1, torch.randn(8), drift_rl.loss("rldf")


def value():
    return loss(current, advantage, plan, old=before, reference=before, valid=yes, group_size=4)


def losses_of_program():
    """Ten means of each in forward_bench, in this process: two processes of one machine may be a third apart."""
    with tempfile.NamedTemporaryFile() as file:
        options = ["", "--benchmark_filter=loss<", "--benchmark_repetitions=10", f"--benchmark_out={file.name}"]
        arguments = (ctypes.c_char_p * (len(options) + 1))(*map(str.encode, options), None)
        ctypes.CDLL("build/release/lib/libforward_bench.so").main(len(options), arguments)
        runs = [run for run in json.load(file)["benchmarks"] if run["run_type"] == "iteration"]
    return [[run["real_time"] / 1e9 for run in runs if name in run["name"]] for name in ("forward>", "backward>")]


def losses():
    """Five means of 2,000 calls: without a gradient, and with it."""
    with torch.no_grad():
        alone = [timeit.timeit(value, number=2000) / 2000 for _ in range(5)]
    differentiated = lambda: torch.autograd.grad(value(), current)
    return alone, [timeit.timeit(differentiated, number=2000) / 2000 for _ in range(5)]


def train(out):
    drift_rl.train("quickstart", out=out, train={"steps": 20})


def train_by_program(out):
    command = ["build/release/bin/drift", "train", "configs/quickstart.toml", "--steps=20", "--out", out]
    subprocess.run(command, check=True, capture_output=True)


def report(name, own, other):
    ratio = statistics.median(own) / statistics.median(other)
    spreads = [f"{1e3 * min(side):.3g} to {1e3 * max(side):.3g} ms" for side in (own, other)]
    print(f"{name}: Python {spreads[0]}, program {spreads[1]}, ratio of the medians {ratio:.3f}")


before_them, of_program, after_them = losses(), losses_of_program(), losses()
for part, name in enumerate(("loss", "loss and gradient")):
    report(name, before_them[part] + after_them[part], of_program[part])
runs = []
for _ in range(5):
    with tempfile.TemporaryDirectory() as folder:
        runs.append([timeit.timeit(lambda: run(f"{folder}/{run.__name__}"), number=1) for run in (train, train_by_program)])
report("train, 20 steps", *zip(*runs))
