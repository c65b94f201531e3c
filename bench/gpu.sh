#!/usr/bin/env bash
# Everything that needs a GPU, on one: the tests with the label `gpu`, then RLDF with adapters on a model of LLaDA-8B's shape and
# random weights, as one table beside published figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
usage: bench/gpu.sh [--rehearse] [--rate TFLOPS] [--work FOLDER]

  --rehearse      the whole script on the CPU, with a small model and short responses
  --rate TFLOPS   the GPU's bfloat16 product rate, of which shares are given (default: 790, an H200 in practice)
  --work FOLDER   where the random checkpoint (16 GB, kept) and the run go (default: a temporary folder)
END
}

build=build/release
rehearse='' rate=790 work=''
while (($#)); do
  case $1 in
    --rehearse) rehearse=yes ;;
    --rate) rate=$2 && shift ;;
    --work) work=$2 && shift ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
if [[ ! $work ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
drift=$build/bin/drift

# How the random checkpoint is made, and the run.
if [[ $rehearse ]]; then
  device=cpu shape=assets/shapes/57m sizes=(train.prompts_per_step=2 train.group_size=2 rollout.length=32 rollout.steps=8)
else
  device=cuda shape=assets/shapes/llada-8b sizes=(train.prompts_per_step=8 train.group_size=4 rollout.length=256 rollout.steps=64)
fi
make_checkpoint() { "$drift" model random "$shape" --out "$1"; }
checkpoint=$work/$(basename "$shape")
run=(train bench/step.toml --model "$checkpoint" --device "$device" --set train.steps=3)
for size in "${sizes[@]}"; do run+=(--set "$size"); done

echo "== tests"
ctest --test-dir "$build" -L gpu --output-on-failure | tee "$work/tests.log" || true

echo "== $checkpoint"
[[ -d $checkpoint ]] || make_checkpoint "$checkpoint"

echo "== drift ${run[*]}"
"$drift" "${run[@]}" --dry-run --json >"$work/plan.json" || true
watch_memory() {  # the largest figure so far, in MiB
  local most=0 now
  while sleep 0.5; do
    now=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1)
    ((now <= most)) || { most=$now && echo "$most" >"$work/memory"; }
  done
}
watcher=
if [[ ! $rehearse ]]; then
  watch_memory &
  watcher=$!
fi
status=0
"$drift" "${run[@]}" --out "$work/run" --overwrite || status=$?
[[ ! $watcher ]] || kill "$watcher"
((status == 0)) || exit "$status"

python3 - "$work" "$shape" "$rate" "$device" <<'END'
import json, pathlib, sys

work, shape, rate, device = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]) * 1e12, sys.argv[4]
config = json.loads((pathlib.Path(shape) / "config.json").read_text())
plan = json.loads((work / "plan.json").read_text())
steps = [json.loads(line) for line in (work / "run/metrics.jsonl").read_text().splitlines()]
steps = [step for step in steps if step["step"] > 1]  # the first one loads kernels
mean = lambda of: sum(of(step) for step in steps) / len(steps)
seconds = {name: mean(lambda step: step["seconds"].get(name) or 0) for name in ("rollout", "reward", "old", "reference", "update", "other", "total")}

# Products alone: layers of every token of a forward, and in the update as much again for the gradient of what is frozen.
hidden, inner = config["d_model"], config["mlp_hidden_size"]
per_token = 2 * config["n_layers"] * (4 * hidden * hidden + 3 * hidden * inner)
responses = plan["prompts_per_step"] * plan["group_size"]
sequence = plan["prompt_tokens"]["mean"] + plan["response_length"]
rollout = mean(lambda step: step["forwards_per_response"]) * responses * sequence * per_token
update = mean(lambda step: step["update_forwards_per_response"] + step["update_backwards_per_response"]) * responses * sequence * per_token
memory = int((work / "memory").read_text()) if (work / "memory").exists() else None
def share(flops, *phases):
    spent = sum(seconds[phase] for phase in phases)
    return f"{flops / spent / rate:.1%}" if device == "cuda" and spent else "no GPU"

# The end of ctest's output.
tests = [line.strip() for line in (work / "tests.log").read_text().splitlines() if "tests passed" in line or "tests failed" in line]
rows = [
    ("tests", tests[-1] if tests else "none ran", ""),
    ("skipped", str((work / "tests.log").read_text().count("***Skipped")), "0 on a GPU"),
    ("rollout, tokens/s", f"{mean(lambda step: step['tokens_per_second']):.1f}", ""),
    *((f"{name}, s", f"{value:.2f}", "") for name, value in seconds.items() if name != "total"),
    ("step, s", f"{seconds['total']:.2f}", "NeMo-RL#3550 95; DiRL 283; TraceRL 1,167"),
    ("rollout, share of the product rate", share(rollout, "rollout"), ""),
    ("update, share of the product rate", share(update, "old", "reference", "update"), ""),
    ("peak memory, GiB", f"{memory / 1024:.1f}" if memory else "no GPU", f"planned {plan['memory']['together'] / 2**30:.1f}"),
]
print(f"\n{shape}, {device}, {plan['prompts_per_step']} prompts x {plan['group_size']} responses of {plan['response_length']}; mean of {len(steps)} steps\n")
widths = [max(len(row[i]) for row in rows) for i in range(3)]
for row in rows:
    print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
END
