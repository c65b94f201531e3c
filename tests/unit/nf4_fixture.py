#!/usr/bin/env python3
"""Writes tests/unit/nf4_fixture.safetensors: what bitsandbytes makes of some weights, on the CPU.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install bitsandbytes==0.50.0 torch==2.11.0 numpy safetensors
    /tmp/venv/bin/python tests/unit/nf4_fixture.py
"""
import pathlib

import bitsandbytes.functional as nf
import torch
from safetensors.torch import save_file

torch.manual_seed(17)
normal = lambda *shape: torch.randn(*shape) * 0.02
table = nf.get_4bit_type("nf4", device="cpu")
midpoints = (table[1:] + table[:-1]) / 2

outliers = normal(40, 96)
outliers[3, 5], outliers[30, 90] = 12.0, -3e4
blocks = torch.zeros(6, 64)
blocks[1], blocks[2], blocks[4] = 0.5, -0.25, 1e-30

weights = {
    "normal": normal(48, 80),
    "several_groups": normal(150, 128).bfloat16(),
    "no_multiple_of_a_block": normal(65, 66).bfloat16(),
    "odd": normal(5, 77),
    "one": normal(1, 1),
    "outliers": outliers,
    "constant_blocks": blocks,
    "zeros": torch.zeros(3, 64),
    "zeros_and_a_part": torch.zeros(3, 50),
    "between_two_codes": torch.cat([midpoints, midpoints.nextafter(torch.tensor(2.0)), table, table[:1]]).repeat(4, 8),
}

tensors = {"dynamic_values": nf.create_dynamic_map()}
for name, weight in weights.items():
    tensors[f"{name}.weight"] = weight
    for kind, double in (("double", True), ("single", False)):
        codes, state = nf.quantize_4bit(weight, compress_statistics=double, quant_type="nf4")
        tensors[f"{name}.codes"] = codes.flatten()
        tensors[f"{name}.{kind}.values"] = nf.dequantize_4bit(codes, state)
        if double:
            tensors[f"{name}.scale_codes"] = state.absmax
            tensors[f"{name}.group_scales"] = state.state2.absmax
            tensors[f"{name}.scale_offset"] = state.offset.reshape(1)
        else:
            tensors[f"{name}.scales"] = state.absmax

path = pathlib.Path(__file__).with_suffix(".safetensors")
save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
print(path, path.stat().st_size)
