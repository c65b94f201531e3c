"""Short runs of the program: those of tests/frozen, and what matters on a GPU alone."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/frozen"))

from runs import ADAPTER, Failed, all_runs, evaluate, train  # noqa: E402


def stop_and_resume(side, name):
    side.drift("train", f"{name}.toml", "--steps", "1", "--out", name)
    side.drift("train", f"{name}.toml", "--steps", "2", "--out", name, "--resume")


def pretrain(side, name):
    side.drift("pretrain", f"{name}.toml", "--out", name)


def printing(*arguments):
    """What the command prints as JSON is the run's result."""
    def do(side, name):
        words = [word.format(name=name, root=ROOT) for word in arguments]
        process = side.start(*words, "--device", side.name, "--json")
        output, error = process.communicate()
        if process.returncode != 0:
            raise Failed(f"status {process.returncode}: {error.strip()}")
        (side.folder / name).mkdir()
        (side.folder / name / "metrics.jsonl").write_text(output.replace("\n", " ") + "\n")
    return do


def device_runs():
    """Name -> (what is done, the settings). Of one step, where that is enough."""
    short = {"train.steps": 1, "train.prompts_per_step": 3, "train.checkpoint_every": 1, "evaluation.every": 1,
             "train.learning_rate": 1e-4}  # large steps would make differences of rounding large
    runs = {name: (do, {**settings, **short}) for name, (do, settings) in all_runs().items() if do in (train, evaluate)}

    def add(name, changes, do=train, like="rldf-llada"):
        runs[name] = (do, {**runs[like][1], **changes})

    add("bfloat16", {"run.bfloat16_products": "widened"}, like="bfloat16")  # which every processor has
    add("adapters-without-dropout", {"adapter.dropout": 0.0}, like="adapters")
    add("offload-optimizer", {"train.offload": "optimizer", "train.steps": 2})
    add("clipped", {"train.gradient_clip": 0.1})
    add("small-budget", {"train.memory_budget_mib": 4})
    blocks = {"model.name": "sdar", "model.path": str(ROOT / "assets/sudoku-sdar"), "rollout.block": 4,
              "rollout.steps": 0, "rollout.temperature": 1.0}  # unlikely tokens make differences of rounding large, too
    add("blocks", blocks)
    add("blocks-tracerl", {**blocks, "value.enabled": True, "algorithm.masking.shrink": 2}, like="tracerl-llada")
    add("blocks-adapters", blocks, like="adapters")
    add("resumed", {"train.steps": 2}, do=stop_and_resume)
    add("pretrained", {"pretrain.steps": 3, "pretrain.batch_size": 8, "pretrain.response_length": 20}, do=pretrain)
    add("generate", {}, do=printing("generate", "llada", "--config", "{name}.toml", "--token-ids", "6,5,5,5,4"))
    add("fidelity", {}, do=printing("fidelity", "{root}/configs/fidelity.toml", "--decoders", "random", "--views", "1",
                                    "--draws", "4"))
    return runs
