#!/usr/bin/env python3
"""Opening a tokenizer and encoding 1 MB of text: Drift against the `tokenizers` package, one thread each, in turn.

    pip install tokenizers==0.23.3
    bench/tokenizer_speed.py [--tokenizer TOKENIZER_JSON] [--runs N]

Each run is a process of its own that opens the tokenizer once and encodes the text once; starting the process and
importing the package do not count. The text is made of this repository's sources and documentation and of the strings of
tests/golden/data/tokenizer/strings.txt that are valid UTF-8, in turn. Both must give the same ids.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIXTURE = ROOT / "tests" / "golden" / "data" / "tokenizer"
BYTES = 1_000_000


def unescaped(text):
    simple = {"n": b"\n", "r": b"\r", "\\": b"\\"}

    def byte_form(match):
        if match[1]:
            return simple[match[1].decode()]
        return bytes([int(match[2], 16)]) if match[2] else chr(int(match[3], 16)).encode()

    return re.sub(rb"\\(?:([nr\\])|x(..)|u\{([0-9A-F]+)\})", byte_form, text.encode())


def strings():
    for line in (FIXTURE / "strings.txt").read_text().split("\n")[:-1]:
        try:
            yield unescaped(line[18:]).decode() + "\n"
        except UnicodeDecodeError:
            pass


def make_text():
    own = [p.read_text() for folder in ("core", "docs", "plugins", "scripts")
           for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".cpp", ".h", ".md", "") and p.is_file()]
    others = list(strings())
    share = len(others) // len(own) + 1
    text = "".join(part + "".join(others[i * share:(i + 1) * share]) for i, part in enumerate(own))
    while len(text.encode()) < BYTES:
        text += text
    return text.encode()[:BYTES].decode(errors="ignore")


def measure_package(tokenizer_path, text_path):
    from tokenizers import Tokenizer
    text = pathlib.Path(text_path).read_bytes().decode()
    start = time.perf_counter()
    tokenizer = Tokenizer.from_file(tokenizer_path)
    opened = time.perf_counter()
    ids = tokenizer.encode(text).ids
    done = time.perf_counter()
    checksum = 0
    for id in ids:
        checksum = (checksum * 31 + id) & 0xFFFFFFFF
    print(json.dumps({"open": opened - start, "encode": done - opened, "ids": len(ids), "checksum": checksum}))


def row(name, values, scale=1000, unit=" ms"):
    low, middle, high = statistics.quantiles(values, n=4)
    print(f"| {name} | {middle * scale:.4g}{unit} | {low * scale:.4g} to {high * scale:.4g} |")


def main():
    if sys.argv[1:2] == ["--package"]:
        return measure_package(*sys.argv[2:])
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--tokenizer", default=str(FIXTURE / "tokenizer.json"))
    arguments.add_argument("--runs", type=int, default=15)
    arguments = arguments.parse_args()
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    with tempfile.NamedTemporaryFile("w", newline="", suffix=".txt") as file:
        file.write(make_text())
        file.flush()
        commands = {"drift": [str(ROOT / "build/release/bench/tokenizer_bench"), arguments.tokenizer, file.name],
                    "package": [sys.executable, __file__, "--package", arguments.tokenizer, file.name]}
        results = {name: [] for name in commands}
        for _ in range(arguments.runs):
            for name, command in commands.items():
                out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
                results[name].append(json.loads(out))
    ids = {(r["ids"], r["checksum"]) for runs in results.values() for r in runs}
    if len(ids) != 1:
        sys.exit(f"the ids differ: {ids}")
    print(f"{BYTES:,} bytes, {next(iter(ids))[0]:,} ids, the same from both; {arguments.runs} runs\n")
    print("| figure | median | quartiles |\n|---|---|---|")
    both = {}
    for name, runs in results.items():
        both[name] = [r["open"] + r["encode"] for r in runs]
        row(f"{name}: open", [r["open"] for r in runs])
        row(f"{name}: encode", [r["encode"] for r in runs])
        row(f"{name}: both", both[name])
    row("package / drift, both", [p / d for p, d in zip(both["package"], both["drift"])], 1, "")
    row("package / drift, encode", [p["encode"] / d["encode"] for p, d in zip(results["package"], results["drift"])], 1, "")


if __name__ == "__main__":
    main()
