#!/usr/bin/env python3
"""Drift from Python against Drift itself, in turn: a loss with its gradient, and a whole run. Five rounds.

    PYTHONPATH=build/release/share/drift/sdk/python tests/python/speed.py

The loss is RLDF's of 8 views of 256 positions, one thread, the median of 2,000 calls, beside that of forward_bench. The
run is the quickstart's of 20 steps.
"""

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


def loss_of_program():
    command = ["build/release/bench/forward_bench", "--benchmark_filter=loss<forward_b", "--benchmark_format=json"]
    return json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))["benchmarks"][0]["real_time"] / 1e9


def train(out):
    drift_rl.train("quickstart", out=out, train={"steps": 20})


def train_by_program(out):
    command = ["build/release/bin/drift", "train", "configs/quickstart.toml", "--steps=20", "--out", out]
    subprocess.run(command, check=True, capture_output=True)


losses, runs = [], []
for _ in range(5):
    losses.append((statistics.median(seconds(differentiated) for _ in range(2000)), loss_of_program()))
    with tempfile.TemporaryDirectory() as folder:
        runs.append((seconds(lambda: train(folder + "/a")), seconds(lambda: train_by_program(folder + "/b"))))
for name, pairs in (("loss and gradient", losses), ("train, 20 steps", runs)):
    ratios = sorted(own / other for own, other in pairs)
    own, other = (statistics.median(side) for side in zip(*pairs))
    print(
        f"{name:18} Python {own:.3g} s, program {other:.3g} s, ratio {ratios[2]:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    )
