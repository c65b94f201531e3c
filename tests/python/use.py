"""What every installation of drift_rl can do: python use.py FOLDER, which it fills. It needs no pytest, so that any
interpreter can run it."""

import sys
from pathlib import Path

import drift_rl
import torch
from drift_rl import _place

plan = drift_rl.masking("rldf").plan([[5, 6, 7, 8]] * 2, [[0, 1, 2, 3]] * 2)
logprobs = torch.full(plan.target_FL.shape, -1.0, requires_grad=True)
drift_rl.loss("rldf", beta=0.0)(logprobs, torch.tensor([1.0, -1.0]), plan).backward()
assert logprobs.grad is not None and bool(logprobs.grad.any())

model = drift_rl.load(_place.prefix() / "share/drift/assets/sudoku-llada")
made = model.generate("3201000003004130", samples=2, rollout="block", length=16, steps=16)
assert made.tokens_BL.shape == (2, 16) and len(made.texts) == 2

run = drift_rl.train("quickstart", out=Path(sys.argv[1]) / "run", **{"train.steps": 2, "evaluation.items": 8})
assert run.checkpoint("last").name == "step-000002"
print("drift_rl", drift_rl.__version__, "works with torch", torch.__version__)
