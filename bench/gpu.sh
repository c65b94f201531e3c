#!/usr/bin/env bash
# Everything that needs a GPU, on one: the tests with the label `gpu`; updates and decoders against the originals' own loops, transcribed
# to LibTorch, on LLaDA-8B with 4 of its 32 layers; then RLDF on a model of LLaDA-8B's shape and random weights, with adapters, with adapters
# over a base in 4 bits, and with all weights where they fit, as one table beside published figures.
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
  originals=(--shape balanced --dtype float32) updates=(--algorithm rldf) decoders=(--decoder llada --batch 1)
else
  device=cuda shape=assets/shapes/llada-8b sizes=(train.prompts_per_step=8 train.group_size=4 rollout.length=256 rollout.steps=64)
  originals=(--shape llada_8b_4_layers --dtype bfloat16 --rounds 3) updates=(--memory-budget-mib 8192) decoders=(--batch 1 32)
fi
make_checkpoint() { "$drift" model random "$shape" --out "$1"; }
checkpoint=$work/$(basename "$shape")
run=(train bench/step.toml --model "$checkpoint" --device "$device" --set train.steps=3)
for size in "${sizes[@]}"; do run+=(--set "$size"); done

# What the columns of the table train, and with which settings.
columns=("adapters" "adapters, nf4" "all weights")
settings_of() {
  case $1 in
    "adapters, nf4") echo model.quantize=nf4 ;;
    "all weights") echo adapter.kind=none train.moments=bfloat16 reference.offload=true ;;
  esac
}

echo "== tests"
ctest --test-dir "$build" -L gpu --output-on-failure | tee "$work/tests.log" || true

echo "== updates and decoders of the originals"
"$build/bench/update_bench" --device "$device" "${originals[@]}" "${updates[@]}" || echo "   failed, and is left out"
"$build/bench/decode_bench" --device "$device" "${originals[@]}" "${decoders[@]}" || echo "   failed, and is left out"

echo "== $checkpoint"
[[ -d $checkpoint ]] || make_checkpoint "$checkpoint"

watch_memory() {  # the largest figure so far, in MiB
  local most=0 now
  while sleep 0.5; do
    now=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1)
    ((now <= most)) || { most=$now && echo "$most" >"$1"; }
  done
}

measure() {  # COLUMN: its plan, its run and its memory, unless the plan says that it does not fit
  local column=$1 folder=$work/$1 watcher='' status=0 setting command=("${run[@]}")
  for setting in $(settings_of "$column"); do command+=(--set "$setting"); done
  echo "== $column: drift ${command[*]}"
  rm -rf "$folder" && mkdir "$folder"
  if ! "$drift" "${command[@]}" --dry-run --json >"$folder/plan.json"; then
    echo "   does not fit, and is left out"
    return
  fi
  if [[ ! $rehearse ]]; then
    watch_memory "$folder/memory" &
    watcher=$!
  fi
  "$drift" "${command[@]}" --out "$folder/run" --overwrite || status=$?
  [[ ! $watcher ]] || kill "$watcher"
  return "$status"
}
for column in "${columns[@]}"; do measure "$column"; done

python3 - "$work" "$shape" "$rate" "$device" "${columns[@]}" <<'END'
import json, pathlib, sys

work, shape, rate, device = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]) * 1e12, sys.argv[4]
config = json.loads((pathlib.Path(shape) / "config.json").read_text())
# Products alone: layers of every token of a forward, and in the update as much again for the gradient of what is frozen, twice as much
# for that of what is trained.
hidden, inner = config["d_model"], config["mlp_hidden_size"]
per_token = 2 * config["n_layers"] * (4 * hidden * hidden + 3 * hidden * inner)
PHASES = ("rollout", "reward", "old", "reference", "update", "other")

def column(name):
    """@return the plan, and the table's figures by the names of its rows"""
    folder = work / name
    plan = json.loads((folder / "plan.json").read_text())
    if not (folder / "run").exists():
        return plan, {"step, s": "does not fit", "memory planned, GiB": f"{plan['memory']['together'] / 2**30:.1f}"}
    steps = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    steps = [step for step in steps if step["step"] > 1]  # the first one loads kernels
    mean = lambda of: sum(of(step) for step in steps) / len(steps)
    seconds = {phase: mean(lambda step: step["seconds"].get(phase) or 0) for phase in (*PHASES, "total")}
    responses = plan["prompts_per_step"] * plan["group_size"]
    sequence = plan["prompt_tokens"]["mean"] + plan["response_length"]
    tokens = responses * sequence * per_token
    backward = 2 if name == "all weights" else 1
    rollout = mean(lambda step: step["forwards_per_response"]) * tokens
    update = mean(lambda step: step["update_forwards_per_response"] + backward * step["update_backwards_per_response"]) * tokens
    def share(flops, *phases):
        spent = sum(seconds[phase] for phase in phases)
        return f"{flops / spent / rate:.1%}" if device == "cuda" and spent else "no GPU"
    memory = folder / "memory"
    return plan, {
        "rollout, tokens/s": f"{mean(lambda step: step['tokens_per_second']):.1f}",
        **{f"{phase}, s": f"{seconds[phase]:.2f}" for phase in PHASES},
        "step, s": f"{seconds['total']:.2f}",
        "rollout, share of the product rate": share(rollout, "rollout"),
        "update, share of the product rate": share(update, "old", "reference", "update"),
        "peak memory, GiB": f"{int(memory.read_text()) / 1024:.1f}" if memory.exists() else "no GPU",
        "memory planned, GiB": f"{plan['memory']['together'] / 2**30:.1f}",
    }

# The end of ctest's output.
log = (work / "tests.log").read_text()
tests = [line.strip() for line in log.splitlines() if "tests passed" in line or "tests failed" in line]
print(f"\ntests: {tests[-1] if tests else 'none ran'}; skipped: {log.count('***Skipped')}, on a GPU 0")
names = sys.argv[5:]
plans, figures = zip(*(column(name) for name in names))
PUBLISHED = {"step, s": "NeMo-RL#3550 95; DiRL 283; TraceRL 1,167"}
rows = [("", *names, "published")]
for row in max(figures, key=len):
    rows.append((row, *(of.get(row, "") for of in figures), PUBLISHED.get(row, "")))
plan = plans[0]
print(f"\n{shape}, {device}, {plan['prompts_per_step']} prompts x {plan['group_size']} responses of {plan['response_length']}; mean of the steps after the first\n")
widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
for row in rows:
    print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
END
