"""The types of the package, and those that a user's script sees."""

import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(os.environ["DRIFT_SOURCE_DIR"]) / "sdk" / "python"
STRICT = ["--strict", "--no-warn-return-any", "--allow-untyped-calls"]  # torch's own types are full of Any

SCRIPT = """
from typing import Optional

import drift_rl
import torch
from torch import Tensor

model: drift_rl.Checkpoint = drift_rl.load("run/checkpoints/last", device="cpu", dtype="bfloat16")
made: drift_rl.Responses = model.generate(["a", "b"], samples=2, temperature=0.5)
plan: drift_rl.Plan = drift_rl.masking("rldf", k=4).plan(made.tokens_BL, made.step_BL)
loss = drift_rl.loss("rldf", beta=0.0)
advantages: Tensor = drift_rl.advantages([1.0, 0.0, 1.0, 1.0], 2)
scored: Tensor = loss(model.logprobs(made.tokens_BL, plan.masked_FL), advantages, plan)
scores: list[drift_rl.Score] = drift_rl.reward("math")(made.texts, ["1"] * 4)
def forward(tokens: Tensor, mask: Optional[Tensor]) -> Tensor:
    return model.logits(tokens, mask)
for function in (forward, model.logits, torch.nn.Linear(2, 2)):
    made = drift_rl.rollout(function, torch.tensor([[1, 2]]), mask_id=3, vocabulary_size=4)
drift_rl.rollout(lambda tokens: tokens, [[1, 2]], mask_id=3, vocabulary_size=4)
try:
    run: drift_rl.Run = drift_rl.train("quickstart", train={"steps": 2})
except drift_rl.Error as error:
    print(error.hint.upper())
"""


def mypy(*arguments, folder):
    cache = Path(os.environ["DRIFT_BUILD_DIR"]) / "tests" / "mypy"
    command = [sys.executable, "-m", "mypy", f"--cache-dir={cache}", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def test_the_package():
    assert "Success" in mypy(*STRICT, "-p", "drift_rl", folder=SOURCES)


def test_a_script_with_right_types(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    assert "Success" in mypy(*STRICT, "script.py", folder=tmp_path)


def test_a_script_with_wrong_types(tmp_path):
    (tmp_path / "script.py").write_text(
        'import drift_rl\n\ndrift_rl.load("a").generate("b", samples="2")\ndrift_rl.lose("rldf")\n'
    )
    said = mypy(*STRICT, "script.py", folder=tmp_path)
    assert 'Argument "samples" to "generate" of "Checkpoint" has incompatible type "str"; expected "int"' in said
    assert 'Module has no attribute "lose"' in said
