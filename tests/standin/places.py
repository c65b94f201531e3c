#!/usr/bin/env python3
"""The functions that a stand-in's reports name, and how often: tests/standin/places.py [--depth N] REPORT...

A line for each kind, operation and place: the innermost function of Drift, and with --depth its callers."""

import argparse
import bisect
import functools
import re
import subprocess
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
def function_of(library, offset):
    """As short as it is unique: without namespaces of the project, arguments, and what compilers add. A lambda is its
    function. Empty if it is not the project's."""
    addresses, names = symbols(library)
    at = bisect.bisect_right(addresses, offset) - 1
    name = names[at] if at >= 0 else ""
    name = name.replace("(anonymous namespace)::", "").split("::{lambda")[0].split(" [clone")[0].split("._omp_fn")[0]
    name = without_brackets(without_brackets(name, "<", ">"), "(", ")")
    name = re.sub(r" const$", "", name).split(" ")[-1]
    return name.removeprefix("drift::") if name.startswith("drift::") and "standin::" not in name else ""


def functions(frames):
    """Of a call stack, innermost first; each once in a row."""
    names = []
    for frame in frames.split():
        library, _, offset = frame.rpartition("+")
        name = function_of(library, int(offset) - 1) if Path(library).suffix == ".so" or ".so." in library else ""
        if name and names[-1:] != [name]:
            names.append(name)
    return names


def counts(reports, kind, depth=1):
    """(operation, place) -> how often."""
    found = Counter()
    for report in reports:
        for line in Path(report).read_text().splitlines():
            its_kind, operation, frames = line.split("\t")
            if its_kind == kind:
                found[operation.removeprefix("aten::"), " < ".join(functions(frames)[:depth]) or "?"] += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", metavar="REPORT")
    parser.add_argument("--depth", type=int, default=1)
    options = parser.parse_args()
    for kind in ("wait", "atomics"):
        for (operation, place), count in sorted(counts(options.reports, kind, options.depth).items()):
            print(f"{kind:<8}{count:>7}  {operation:<28}  {place}")


if __name__ == "__main__":
    main()
