"""Losses, masking strategies, rewards and tasks for Drift in Python.

    import drift

    class SoftClip(drift.Loss):
        "PPO with a smooth clip."
        coupling = "view"
        width = drift.parameter(4.0, "curvature of the weight", minimum=0)

        def evaluate(self, input):
            log_ratio_FL = drift.log_ratio(input.current_FL, input.old_FL, input.plan.target_FL, 20)
            gain_FL = input.token_advantage * log_ratio_FL.exp() / (1 + self.width * log_ratio_FL.square())
            return input.token_mean(-gain_FL)

A run names it: `[algorithm.loss] name = "python"`, `file = "soft_clip.py:SoftClip"`. The first line of the class's
docstring and its parameters are what `drift plugin info` prints. The module is plain Python, so that a component can be
tested without Drift. The manual is docs/sdk.md.
"""

from .component import Component, Error, parameter
from .random import RandomStream
from .tensors import Loss, LossInput, Masking, MaskingInput, Plan, Totals, Trajectories, log_ratio, where
from .texts import Item, Request, Reward, Task, Verdict

__all__ = [
    "Component",
    "Error",
    "Item",
    "Loss",
    "LossInput",
    "Masking",
    "MaskingInput",
    "Plan",
    "RandomStream",
    "Request",
    "Reward",
    "Task",
    "Totals",
    "Trajectories",
    "Verdict",
    "log_ratio",
    "parameter",
    "where",
]
