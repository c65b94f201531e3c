#!/usr/bin/env python3
"""The planned memory of training runs beside the measured one.

Each case is a LLaDA of random weights and a run of two steps. `drift train --dry-run` plans it, `drift train` runs it,
and the largest resident set of that process is held against the plan.

    ninja -C build/release drift_program drift_plugin_every_other
    bench/memory_plan.py [--drift build/release/bin/drift] [CASE...]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# hidden, layers, heads, inner, vocabulary
SHAPES = {
    "57M": (512, 12, 8, 1536, 8192),
    "150M": (512, 6, 8, 1536, 126464),
    "300M": (1024, 20, 16, 2816, 8192),
    "600M": (1280, 20, 20, 3456, 32768),
}
CASES = {
    "57M float32": ("57M", ""),
    "57M bfloat16": ("57M", "model.dtype='bfloat16'"),
    "57M bfloat16, no KL": ("57M", "model.dtype='bfloat16' algorithm.loss.beta=0.0"),
    "150M float32": ("150M", ""),
    "150M bfloat16": ("150M", "model.dtype='bfloat16'"),
    "150M bfloat16, bfloat16 moments": ("150M", "model.dtype='bfloat16' train.moments='bfloat16'"),
    "300M float32": ("300M", ""),
    "300M bfloat16": ("300M", "model.dtype='bfloat16'"),
    "300M bfloat16, streamed reference": ("300M", "model.dtype='bfloat16' reference.offload=true"),
    "600M bfloat16": ("600M", "model.dtype='bfloat16'"),
    "600M bfloat16, bfloat16 moments, streamed reference": (
        "600M",
        "model.dtype='bfloat16' train.moments='bfloat16' reference.offload=true",
    ),
}

RUN = """extends = ["{root}/configs/models/sudoku-llada.toml", "{root}/configs/tasks/sudoku.toml"]
[run]
name = "memory"
[plugins]
paths = ["{plugins}"]
[model]
path = "{model}"
[reward]
name = "every_other"
[rollout]
length = 64
block = 32
threshold = 0.5
[algorithm]
name = "rldf"
[algorithm.masking]
k = 4
[algorithm.loss]
beta = 0.01
[train]
steps = 2
prompts_per_step = 2
group_size = 4
learning_rate = 1e-5
memory_budget_mib = 512
gap_responses = 0
[evaluation]
items = 4
before = false
"""


def random_bytes_of_bfloat16(count):
    """Small values of both signs: any byte below an exponent of about 2^-6."""
    block = bytearray(os.urandom(2 << 20))
    for high in range(1, len(block), 2):
        block[high] = 0x3C | (block[high] & 0x80)
    whole, rest = divmod(2 * count, len(block))
    for _ in range(whole):
        yield block
    yield block[:rest]


def make_checkpoint(folder, shape):
    hidden, layers, heads, inner, vocabulary = shape
    source = ROOT / "assets/sudoku-llada"
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    config = json.loads((source / "config.json").read_text())
    config.update(d_model=hidden, n_layers=layers, n_heads=heads, n_kv_heads=heads, mlp_hidden_size=inner,
                  vocab_size=vocabulary, embedding_size=vocabulary, max_sequence_length=512, torch_dtype="bfloat16")
    (folder / "config.json").write_text(json.dumps(config))
    outer = "model.transformer."
    tensors = {outer + "wte.weight": [vocabulary, hidden], outer + "ln_f.weight": [hidden],
               outer + "ff_out.weight": [vocabulary, hidden]}
    for layer in range(layers):
        block = f"{outer}blocks.{layer}."
        for name in ("attn_norm", "ff_norm"):
            tensors[block + name + ".weight"] = [hidden]
        for name in ("q_proj", "k_proj", "v_proj", "attn_out"):
            tensors[block + name + ".weight"] = [hidden, hidden]
        for name in ("ff_proj", "up_proj"):
            tensors[block + name + ".weight"] = [inner, hidden]
        tensors[block + "ff_out.weight"] = [hidden, inner]
    header, end = {}, 0
    for name, sizes in tensors.items():
        count = sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": sizes, "data_offsets": [end, end + 2 * count]}
        end += 2 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for piece in random_bytes_of_bfloat16(end // 2):
            file.write(piece)
    return end // 2


def run_and_measure(command):
    """@return exit status, largest resident set in bytes, text"""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return child.returncode, usage.ru_maxrss * 1024, output.read().decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drift", default=str(ROOT / "build/release/bin/drift"))
    parser.add_argument("--parts", action="store_true", help="also print the parts of each plan")
    parser.add_argument("cases", nargs="*", help="; ".join(CASES))
    arguments = parser.parse_args()
    plugins = pathlib.Path(arguments.drift).resolve().parent.parent / "bench/plugins"
    print("| case | parameters | planned | measured | planned / measured |\n|---|---:|---:|---:|---:|")
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in arguments.cases or CASES:
            shape, settings = CASES[name]
            model = folder / shape
            if not model.exists():
                for other in SHAPES:  # disk and page cache hold one model
                    subprocess.run(["rm", "-rf", str(folder / other)], check=True)
                make_checkpoint(model, SHAPES[shape])
            (folder / "run.toml").write_text(RUN.format(root=ROOT, plugins=plugins, model=model))
            options = [word for setting in settings.split() for word in ("--set", setting)]
            train = [arguments.drift, "train", str(folder / "run.toml"), "--out", str(folder / "run"), "--overwrite"]
            planned = subprocess.run(train + options + ["--dry-run", "--json"], capture_output=True, text=True)
            if not planned.stdout:
                sys.exit(planned.stderr)
            plan = json.loads(planned.stdout)
            status, measured, text = run_and_measure(train + options + ["--set", "train.checkpoint_every=0"])
            subprocess.run(["rm", "-rf", str(folder / "run")], check=True)
            if status != 0 or "learned nothing" in text:
                sys.exit(f"{name}:\n{text}")
            total = plan["memory"]["together"]
            ratio = total / measured
            wrong += abs(ratio - 1) > 0.1
            print(f"| {name} | {plan['parameters'] / 1e6:,.0f} M | {total / 2**30:.2f} GiB | {measured / 2**30:.2f} GiB |"
                  f" {ratio:.2f} |", flush=True)
            if arguments.parts:
                print("  ", json.dumps(plan["memory"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
