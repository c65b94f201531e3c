#!/usr/bin/env python3
"""Drift from Python against Drift itself, in turn: a loss with its gradient, and a whole run. Five rounds.

    PYTHONPATH=build/release/share/drift/sdk/python tests/python/speed.py

The loss is RLDF's of 8 views of 256 positions, one thread, the median of 2,000 calls, beside that of forward_bench. The
run is the quickstart's of 20 steps.
"""

import ctypes
import json
import statistics
import subprocess
import tempfile
import time

import drift_rl
import torch


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


torch.set_num_threads(1)
yes = torch.ones(8, 256, dtype=torch.bool)
plan = drift_rl.Plan(torch.arange(8), torch.zeros(8, dtype=torch.int64), yes, yes, terms=1)
current = torch.randn(8, 256).abs().neg().requires_grad_()
before, advantage, loss = current.detach() - 0.1, torch.randn(8), drift_rl.loss("rldf")


def differentiated():
    value = loss(current, advantage, plan, old=before, reference=before, group_size=4)
    torch.autograd.grad(value, current)


def losses_of_program():
    """Ten medians of forward_bench, in this process: two processes of one machine may be a third apart."""
    with tempfile.NamedTemporaryFile() as file:
        options = ["", "--benchmark_filter=loss<forward_b", "--benchmark_repetitions=10", f"--benchmark_out={file.name}"]
        arguments = (ctypes.c_char_p * (len(options) + 1))(*map(str.encode, options), None)
        ctypes.CDLL("build/release/lib/libforward_bench.so").main(len(options), arguments)
        runs = json.load(file)["benchmarks"]
    return [run["real_time"] / 1e9 for run in runs if run["run_type"] == "iteration"]


def losses():
    return [statistics.median(seconds(differentiated) for _ in range(2000)) for _ in range(5)]


def train(out):
    drift_rl.train("quickstart", out=out, train={"steps": 20})


def train_by_program(out):
    command = ["build/release/bin/drift", "train", "configs/quickstart.toml", "--steps=20", "--out", out]
    subprocess.run(command, check=True, capture_output=True)


def report(name, own, other):
    ratio = statistics.median(own) / statistics.median(other)
    spreads = [f"{1e3 * min(side):.3g} to {1e3 * max(side):.3g} ms" for side in (own, other)]
    print(f"{name}: Python {spreads[0]}, program {spreads[1]}, ratio of the medians {ratio:.3f}")


first, other = losses(), losses_of_program()
report("loss and gradient", first + losses(), other)
runs = []
for _ in range(5):
    with tempfile.TemporaryDirectory() as folder:
        runs.append((seconds(lambda: train(folder + "/a")), seconds(lambda: train_by_program(folder + "/b"))))
report("train, 20 steps", *zip(*runs))
