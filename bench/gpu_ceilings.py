"""What the card does by itself, by PyTorch: one line of JSON a measurement, with `name`, `value` and `unit`."""

import json
import sys

import torch

F = torch.nn.functional
HIDDEN, INNER, VOCABULARY = 4096, 12288, 126464  # of LLaDA-8B
UPDATE_ROWS = 1280  # four rows of 320 tokens


def milliseconds(work, runs=10):
    """The median, after three runs that load kernels."""
    times = []
    for run in range(3 + runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times[3:])[runs // 2]


def tell(name, value, unit):
    print(json.dumps(dict(name=name, value=value, unit=unit)), flush=True)


def random(*sizes):
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)


def product(m, k, n):
    a, b = random(m, k), random(n, k)
    tell(f"product {m} x {k} x {n}", 2 * m * k * n / milliseconds(lambda: F.linear(a, b)) / 1e9, "TFLOP/s")


tell("memory of " + torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / 2**30, "GiB")
product(UPDATE_ROWS, HIDDEN, INNER)
if sys.argv[1:] != ["--rate"]:
    source = torch.empty(2**31, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    tell("copy", 2 * source.numel() / milliseconds(lambda: target.copy_(source)) / 1e9, "TB/s")
    del source, target
    for sizes in ((8192, 8192, 8192), (1792, HIDDEN, INNER), (8192, HIDDEN, INNER), (1061, HIDDEN, VOCABULARY), (384, HIDDEN, HIDDEN), (32, HIDDEN, INNER)):
        product(*sizes)
