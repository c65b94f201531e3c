#!/usr/bin/env python3
"""The planned memory of training runs beside the measured one.

Each case is a model of random weights (`drift model random`, a folder of assets/shapes) and one step of
bench/step.toml with the case's settings. `drift train --dry-run` plans it, `drift train` runs it, and the largest
resident set of that process is held against the plan. Exits with 1 if a plan is off by more than a tenth.

    bench/memory_plan.py [--drift build/release/bin/drift] [--work FOLDER] [CASE...]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Four forwards a response, so that the four views of RLDF are four contexts.
SHORT = "train.steps=1 rollout.steps=4 algorithm.masking.k=4"
ALL = "adapter.kind='none'"
SETTINGS = {
    "adapters": "",
    "adapters, nf4": "model.quantize='nf4'",
    "adapters, float32": "model.dtype='float32'",
    "all weights": ALL,
    "all weights, float32": ALL + " model.dtype='float32'",
    "all weights, reference offloaded": ALL + " reference.offload=true",
    "all weights, reference offloaded, bfloat16 moments": ALL + " reference.offload=true train.moments='bfloat16'",
    "all weights, float32, budget of 128 MiB": ALL + " model.dtype='float32' train.memory_budget_mib=128",
}
ONE_GROUP = " train.prompts_per_step=1"
CASES = {f"{shape}, {name}": (shape, settings) for shape in ("57m", "150m") for name, settings in SETTINGS.items()}
CASES |= {f"0.5b, {name}": ("0.5b", SETTINGS[name] + ONE_GROUP)
          for name in ("adapters", "adapters, nf4", "adapters, float32", "all weights", "all weights, float32")}
CASES |= {f"1.5b, {name}": ("1.5b", SETTINGS[name] + ONE_GROUP) for name in ("adapters", "adapters, nf4")}


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
    parser.add_argument("--work", help="where the models are made, and kept (default: a temporary folder)")
    parser.add_argument("--parts", action="store_true", help="also print the parts of each plan")
    parser.add_argument("cases", nargs="*", help="; ".join(CASES))
    arguments = parser.parse_args()
    print("| case | parameters | planned | measured | planned / measured |\n|---|---:|---:|---:|---:|", flush=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(arguments.work or temporary)
        for name in arguments.cases or CASES:
            shape, settings = CASES[name]
            model = work / f"random-{shape}"
            if not model.exists():
                random = [arguments.drift, "model", "random", str(ROOT / "assets/shapes" / shape), "--out", str(model)]
                subprocess.run(random, check=True, stdout=subprocess.DEVNULL)
            options = [word for setting in f"{SHORT} {settings}".split() for word in ("--set", setting)]
            train = [arguments.drift, "train", str(ROOT / "bench/step.toml"), "--model", str(model), *options,
                     "--out", str(pathlib.Path(temporary) / "run"), "--overwrite"]
            planned = subprocess.run([*train, "--dry-run", "--json"], capture_output=True, text=True)
            if not planned.stdout:
                sys.exit(planned.stderr)
            plan = json.loads(planned.stdout)
            status, measured, text = run_and_measure(train)
            if status != 0:
                sys.exit(f"{name}:\n{text}")
            total = plan["memory"]["together"]
            wrong += abs(total / measured - 1) > 0.1
            print(f"| {name} | {plan['parameters'] / 1e6:,.0f} M | {total / 2**20:,.0f} MiB |"
                  f" {measured / 2**20:,.0f} MiB | {total / measured:.2f} |", flush=True)
            if arguments.parts:
                print("  ", json.dumps({part: round((size or 0) / 2**20) for part, size in plan["memory"].items()}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
