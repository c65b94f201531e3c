#!/usr/bin/env python3
"""Drift from Python against Drift itself: one loss with and without its gradient, and a whole run.

    PYTHONPATH=build/release/share/drift/sdk/python bench/python_calls.py [BUILD_FOLDER]

The loss is RLDF's of 8 views of 256 positions, one thread; the median of 2,000 calls, in five rounds with forward_bench
in turn. The run is the quickstart's, of 20 steps, in five rounds with `drift train`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

build = sys.argv[1] if len(sys.argv) > 1 else "build/release"


def of_program():
    command = [f"{build}/bench/forward_bench", "--benchmark_filter=loss", "--benchmark_format=json"]
    shown = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    times = {row["name"]: row["real_time"] / 1e3 for row in json.loads(shown.stdout)["benchmarks"]}
    return [times["loss<forward>"], times["loss<forward_backward>"]]


def of_python():
    import drift_rl
    import torch

    torch.set_num_threads(1)
    yes = torch.ones(8, 256, dtype=torch.bool)
    plan = drift_rl.Plan(torch.arange(8), torch.zeros(8, dtype=torch.int64), yes, yes, terms=1)
    current = torch.randn(8, 256).abs().neg().requires_grad_()
    before, advantage, loss = current.detach() - 0.1, torch.randn(8), drift_rl.loss("rldf")

    def value():
        return loss(current, advantage, plan, old=before, reference=before, group_size=4)

    def median(call):
        seconds = []
        for _ in range(2000):
            begin = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds) * 1e6

    with torch.no_grad():
        alone = median(value)
    return [alone, median(lambda: torch.autograd.grad(value(), current))]


def seconds_of(run):
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        run(folder + "/run")
        return time.perf_counter() - begin


def trained_by_program(out):
    command = [f"{build}/bin/drift", "train", "configs/quickstart.toml", "--steps", "20", "--out", out]
    subprocess.run(command, check=True, capture_output=True)


def trained_by_python(out):
    import drift_rl

    drift_rl.train("quickstart", out=out, **{"train.steps": 20})


def print_rounds(name, unit, own, other):
    ratios = [a / b for a, b in zip(own, other)]
    print(
        f"{name:24} Python {statistics.median(own):8.2f} {unit}, program {statistics.median(other):8.2f} {unit}, "
        f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    )


rounds = [(of_python(), of_program()) for _ in range(5)]
for part, name in enumerate(("loss", "loss and gradient")):
    print_rounds(name, "us", [own[part] for own, _ in rounds], [other[part] for _, other in rounds])
runs = [(seconds_of(trained_by_python), seconds_of(trained_by_program)) for _ in range(5)]
print_rounds("train, 20 steps", "s", *zip(*runs))
