#!/usr/bin/env python3
"""Where the host waits and floats are added with atomics, of a stand-in's reports: tests/standin/places.py REPORT..."""

import bisect
import functools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path


@functools.cache
def symbols(library):
    """Addresses of a library's functions, in order, and their names."""
    listed = subprocess.run(["nm", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    found = sorted((int(address, 16), name) for address, name in
                   re.findall(r"^([0-9a-f]+) [tTwWuV] (.*)$", listed, re.MULTILINE))
    return [address for address, _ in found], [name for _, name in found]


def without_brackets(text, opening, closing):
    kept, depth = [], 0
    for letter in text:
        depth += letter == opening
        if depth == 0:
            kept.append(letter)
        depth -= letter == closing
    return "".join(kept)


@functools.cache
def function_at(library, offset):
    """Its name without arguments and what compilers add; a lambda is the function around it. Empty: not the project's."""
    addresses, names = symbols(library)
    name = names[bisect.bisect_right(addresses, offset) - 1] if addresses else ""
    name = name.replace("(anonymous namespace)::", "").split("::{lambda")[0].split(" [clone")[0].split("._omp_fn")[0]
    name = without_brackets(without_brackets(name, "<", ">"), "(", ")").removesuffix(" const").split(" ")[-1]
    return name.removeprefix("drift::") if name.startswith("drift::") and "standin::" not in name else ""


def innermost_function(frames):
    for frame in frames.split():
        library, _, offset = frame.rpartition("+")
        if ".so" in Path(library).name and (name := function_at(library, int(offset) - 1)):
            return name
    return "?"


def counts(reports, kind):
    """(operation, function) -> how often."""
    lines = [line.split("\t") for report in reports for line in Path(report).read_text().splitlines()]
    return Counter((operation.removeprefix("aten::"), innermost_function(frames))
                   for its_kind, operation, frames in lines if its_kind == kind)


if __name__ == "__main__":
    for kind in ("wait", "atomics"):
        for (operation, function), count in sorted(counts(sys.argv[1:], kind).items()):
            print(f"{kind:<8}{count:>7}  {operation:<28}  {function}")
