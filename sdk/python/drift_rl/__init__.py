"""Drift in Python: reinforcement learning for masked diffusion language models.

    import drift_rl

    run = drift_rl.train("quickstart", out="runs/first")
    print(run.metrics["reward"])
    model = drift_rl.load(run.checkpoint("last"))
    print(model.generate("…", temperature=0))

The parts of Drift also work in a training loop of one's own: masking(), loss(), advantages(), linear_log_softmax(),
reward() and rollout(). Classes for components in Python (Loss, Masking, Reward, Task) are those of the package `drift`.
Errors are drift_rl.Error, with a hint. The manual is docs/python.md.
"""

from . import _place

_place.import_drift()

from drift import *  # noqa: E402, F401, F403
from drift import __all__ as _components  # noqa: E402

from .checkpoints import Checkpoint, Responses, load, rollout  # noqa: E402
from .estimators import advantages, linear_log_softmax, loss, masking  # noqa: E402
from .rewards import Score, reward  # noqa: E402
from .runs import Run, compare, runs  # noqa: E402
from .training import train  # noqa: E402

__version__ = "0.1.0"
__all__ = [
    *_components,
    "Checkpoint",
    "Responses",
    "Run",
    "Score",
    "advantages",
    "compare",
    "linear_log_softmax",
    "load",
    "loss",
    "masking",
    "reward",
    "rollout",
    "runs",
    "train",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
