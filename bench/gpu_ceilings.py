"""What the card does by itself, by PyTorch: one line of JSON a measurement, with `name`, `value` and `unit`."""

import json
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

F = torch.nn.functional
HIDDEN, INNER, VOCABULARY, HEADS = 4096, 12288, 126464, 32  # of LLaDA-8B
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


def attention(rows, length, masked):
    q, k, v = (random(rows, HEADS, length, HIDDEN // HEADS).requires_grad_() for _ in range(3))
    bias = None
    if masked:  # each row has its own padding on the left
        padding = torch.arange(length, device="cuda")[None] < (7 + torch.arange(rows, device="cuda"))[:, None]
        bias = torch.zeros(rows, 1, 1, length, device="cuda").masked_fill(padding[:, None, None], float("-inf")).bfloat16()
        bias = bias.expand(rows, HEADS, length, length)
    for name, backend in dict(flash=SDPBackend.FLASH_ATTENTION, efficient=SDPBackend.EFFICIENT_ATTENTION, cudnn=SDPBackend.CUDNN_ATTENTION).items():
        def forward():
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        try:
            slope = torch.randn_like(forward())
            forth = milliseconds(forward, 5)
            both = milliseconds(lambda: torch.autograd.grad(forward(), (q, k, v), slope), 5)
        except RuntimeError:
            continue  # not made for this case
        for way, value in (("forward", forth), ("backward", both - forth)):
            tell(f"attention {name}, {rows} x {length}{', masked' if masked else ''}, {way}", value, "ms")


tell("memory of " + torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / 2**30, "GiB")
product(UPDATE_ROWS, HIDDEN, INNER)
if sys.argv[1:] != ["--rate"]:
    source = torch.empty(2**31, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    tell("copy", 2 * source.numel() / milliseconds(lambda: target.copy_(source)) / 1e9, "TB/s")
    del source, target
    for sizes in ((8192, 8192, 8192), (1792, HIDDEN, INNER), (8192, HIDDEN, INNER), (1061, HIDDEN, VOCABULARY), (384, HIDDEN, HIDDEN), (32, HIDDEN, INNER)):
        product(*sizes)
    for case in ((4, 320, False), (4, 448, True), (16, 448, True), (16, 448, False)):
        attention(*case)
