#!/usr/bin/env python3
"""The reward `math` against math-verify and against the rule of rldf_release, on pairs of an answer and a truth.

    pip install math-verify==0.9.0 antlr4-python3-runtime==4.13.2
    bench/math_graders.py [--pairs PAIRS.csv] [--rounds N]

PAIRS.csv has the columns `prediction`, `truth` and `equal` (1 or 0, as a mathematician judges). Times are processor
times of one judgement. math-verify's is that of parsing both answers and comparing them, in a process that has done so
before; Drift's that of a record more in `drift reward`, its reading and the printed verdict included.
"""

import argparse
import csv
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
COPIES = 200  # of each pair, so that what a program does once does not count


def boxed(answer):
    return "\\boxed{" + answer + "}"


def judge_with_math_verify(pairs):
    from math_verify import parse, verify
    start = time.process_time()
    verdicts = [bool(verify(parse(boxed(p["truth"])), parse(boxed(p["prediction"])))) for p in pairs]
    return verdicts, (time.process_time() - start) / len(pairs)


def run_drift(pairs, copies, settings):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for pair in pairs * copies:
            file.write(json.dumps({"response": boxed(pair["prediction"]), "reference": pair["truth"]}) + "\n")
        file.flush()
        command = [str(ROOT / "build/release/bin/drift"), "reward", "math", "--in", file.name, "--json",
                   "--set", "run.threads=1", *settings]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [json.loads(line)["solved"] for line in lines[:len(pairs)]], seconds


def judge_with_drift(pairs, settings=()):
    verdicts, once = run_drift(pairs, 1, settings)
    _, often = run_drift(pairs, 1 + COPIES, settings)
    return verdicts, (often - once) / (COPIES * len(pairs))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--pairs", default=str(ROOT / "plugins/rewards/math/math_answers/tests/pairs.csv"))
    arguments.add_argument("--rounds", type=int, default=7)
    arguments = arguments.parse_args()
    with open(arguments.pairs, newline="") as file:
        pairs = list(csv.DictReader(file))
    graders = {"`math`": judge_with_drift,
               "math-verify": judge_with_math_verify,
               "`math`, `legacy = \"rldf_release\"`":
                   lambda pairs: judge_with_drift(pairs, ["--set", 'reward.legacy="rldf_release"'])}
    equal = [pair["equal"] == "1" for pair in pairs]
    print(f"{len(pairs)} pairs, {sum(equal)} of them equal; {arguments.rounds} rounds\n")
    print("| judged by | right | a right answer refused | a wrong one paid | one judgement: median, quartiles |")
    print("|---|---|---|---|---|")
    for name, judge in graders.items():
        rounds = [judge(pairs) for _ in range(arguments.rounds + 1)][1:]
        verdicts = rounds[0][0]
        if any(other != verdicts for other, _ in rounds):
            sys.exit(f"{name}: the verdicts differ from round to round")
        refused = sum(e and not v for e, v in zip(equal, verdicts))
        paid = sum(v and not e for e, v in zip(equal, verdicts))
        low, middle, high = (1000 * q for q in statistics.quantiles([seconds for _, seconds in rounds], n=4))
        print(f"| {name} | {len(pairs) - refused - paid} | {refused} | {paid} | "
              f"{middle:.2g} ms, {low:.2g} to {high:.2g} |", flush=True)


if __name__ == "__main__":
    main()
