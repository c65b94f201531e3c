"""Losses, masking strategies and advantages of Drift in a training loop of one's own.

The letters at the end of a name are the tensor's shape: B responses, L response positions, P prompt tokens, F views
(masked contexts that are scored), N rows, H hidden units, V tokens of the vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from drift import Error, Plan
from drift.tensors import plan_fields, plan_of

from . import _core

if TYPE_CHECKING:
    from torch import Tensor


def _as_tensor(name: str, values: Any, dtype: Any, *shape: Optional[int]) -> "Tensor":
    """On the CPU and contiguous; of a list, too. Whole numbers become others that hold them, and nothing else does."""
    import torch

    tensor = torch.as_tensor(values)
    whole = (torch.int64, torch.int32)
    if tensor.dtype != dtype and not (tensor.dtype in whole and dtype in whole):
        raise Error(f"`{name}` is of type {tensor.dtype}, not {dtype}")
    if tensor.dim() != len(shape) or any(size not in (None, own) for size, own in zip(shape, tensor.shape)):
        expected = ", ".join("?" if size is None else str(size) for size in shape)
        raise Error(f"`{name}` has the shape {list(tensor.shape)}, not [{expected}]")
    made = tensor.detach().to("cpu", dtype).contiguous()
    if tensor.dtype != dtype and not torch.equal(made.to(tensor), tensor):
        raise Error(f"`{name}` has a number that {dtype} cannot hold")
    return made


class MaskingStrategy:
    """A masking strategy of Drift; masking() makes it."""

    def __init__(self, name: str, parameters: dict[str, Any]):
        self.name = name
        self._made, refresh = _core.call("make_masking", name, _core.items(parameters))
        self.refresh: str = ("once_per_rollout", "each_inner_iteration")[refresh]
        """How often a plan is to be drawn."""

    def plan(
        self,
        tokens: Any,
        steps: Any,
        *,
        valid: Any = None,
        prompts: Any = None,
        prompt_mask: Any = None,
        groups: Any = None,
        logprobs: Any = None,
        response_numbers: Any = None,
        seed: int = 1,
        step: int = 1,
        inner_iteration: int = 1,
        end_id: int = -1,
        pad_id: int = -1,
        end_ids: Optional[Sequence[int]] = None,
        block_size: int = 0,
    ) -> Plan:
        """The masked contexts to score. The numbers drawn are those of a run of `drift train` with this seed.

        tokens [B, L] int64: the responses. steps [B, L]: the denoising step, from 0, that committed each position; -1:
        none. valid [B, L] bool: positions that count; without it those that neither are padding nor were never
        committed. prompts [B, P], prompt_mask [B, P] (true: a real token). groups [B]: number of each response's group.
        logprobs [B, L] float32: log-probability of each token when it was committed. response_numbers [B]: of each
        response in its rollout; without it 0, 1, 2, … step, inner_iteration: of the run, from 1. end_id, pad_id,
        end_ids: the tokens that end a response and fill it up. block_size: of a model with block attention.
        """
        import torch

        if step < 1 or inner_iteration < 1:
            raise Error(f"`step` is {step} and `inner_iteration` is {inner_iteration}", "both count from 1")
        tokens = _as_tensor("tokens", tokens, torch.int64, None, None)
        responses, length = tokens.shape
        steps = _as_tensor("steps", steps, torch.int32, responses, length)
        valid = (tokens != pad_id) & (steps >= 0) if valid is None else valid
        prompts = _as_tensor(
            "prompts", torch.zeros(responses, 0).long() if prompts is None else prompts, torch.int64, responses, None
        )
        prompt_mask = torch.ones_like(prompts) > 0 if prompt_mask is None else prompt_mask
        groups = torch.zeros(responses).long() if groups is None else groups
        logprobs = torch.zeros(responses, length) if logprobs is None else logprobs
        logprobs = _as_tensor("logprobs", logprobs, torch.float32, responses, length)
        if logprobs.isnan().any():
            raise Error("`logprobs` has a NaN", "0 where no token was committed")
        numbers = torch.arange(responses) if response_numbers is None else response_numbers
        trajectories = (
            prompts,
            _as_tensor("prompt_mask", prompt_mask, torch.bool, *prompts.shape),
            _as_tensor("groups", groups, torch.int64, responses),
            tokens,
            _as_tensor("valid", valid, torch.bool, responses, length),
            steps,
            logprobs,
            steps.amax(1).long() + 1,
        )
        drawn = _core.call(
            "draw_plan",
            self._made,
            trajectories,
            (seed, step, inner_iteration - 1, end_id, pad_id, block_size),
            _as_tensor("response_numbers", numbers, torch.int64, responses),
            None if end_ids is None else torch.tensor(list(end_ids)),
        )
        return plan_of(drawn)


def masking(name: str, **parameters: Any) -> MaskingStrategy:
    """The masking strategy of that name, with these values of its parameters (`drift plugin info NAME` lists them)."""
    return MaskingStrategy(name, parameters)


class LossEstimator:
    """A loss of Drift; loss() makes it."""

    def __init__(self, name: str, parameters: dict[str, Any]):
        self.name = name
        self._made = _core.call("make_loss", name, _core.items(parameters))
        coupling, *needs = _core.call("loss_facts", self._made)
        self.coupling: str = ("view", "response", "batch")[coupling]
        """Which views belong together in one call: each is alone, those of a response, or those of the whole batch."""
        names = ("old", "reference", "entropy")
        self.needs: tuple[str, ...] = tuple(name for name, needed in zip(names, needs) if needed)
        """What the loss reads besides current_FL, of "old", "reference" and "entropy"."""
        self._required = [name for name in self.needs if name in ("reference", "entropy")]
        self._reported: Any = None

    @property
    def metrics(self) -> dict[str, float]:
        """What the last call reports."""
        return dict(_core.call("loss_metrics", self._reported)) if self._reported else {}

    def __call__(
        self,
        current_FL: "Tensor",
        advantages: "Tensor",
        plan: Plan,
        *,
        old: Optional["Tensor"] = None,
        reference: Optional["Tensor"] = None,
        entropy: Optional["Tensor"] = None,
        reference_entropy: Optional["Tensor"] = None,
        token_advantages: Optional["Tensor"] = None,
        valid: Optional["Tensor"] = None,
        responses: Optional[int] = None,
        group_size: Optional[int] = None,
        optimizer_steps: int = 1,
    ) -> "Tensor":
        """The loss of the views of `plan`: a tensor without dimensions, differentiable in `current_FL` (and `entropy`).

        current_FL [F, L]: log-probabilities of the responses' tokens at plan.target_FL, float32 or float64; what
        stands elsewhere does not count. advantages [B]; token_advantages [B, L], if each token has its own. old,
        reference: the same log-probabilities by the policy that wrote the responses, and by the reference policy;
        without `old` the current ones, detached. entropy, reference_entropy: of the predicted distributions. valid
        [B, L] bool: positions that count; without it all. responses, group_size, optimizer_steps: of the rollout;
        without the first two B, and all of one group. Tensors are on the device of current_FL and of its type.
        """
        import torch

        if current_FL.dim() != 2 or current_FL.dtype not in (torch.float32, torch.float64) or advantages.dim() != 1:
            found = f"{list(current_FL.shape)} of {current_FL.dtype} and {list(advantages.shape)}"
            raise Error(
                f"`current_FL` and `advantages` are {found}, not [F, L] of float32 or float64 and [B]",
                "a row of current_FL for each view of the plan: plan.response_F says of which response",
            )
        given = {"old": old, "reference": reference, "entropy": entropy, "reference_entropy": reference_entropy}
        for name in self._required:
            if given[name] is None:
                raise Error(f"loss `{self.name}` needs `{name}` of each view with these parameters", f"give {name}=…")
        responses = responses or len(advantages)
        value, self._reported = _core.call(
            "evaluate_loss",
            self._made,
            plan_fields(plan),
            (current_FL, *given.values()),
            advantages,
            token_advantages,
            valid,
            (responses, group_size or responses, optimizer_steps),
        )
        return value


def loss(name: str, **parameters: Any) -> LossEstimator:
    """The loss of that name, with these values of its parameters (`drift plugin info NAME` lists them)."""
    return LossEstimator(name, parameters)


def advantages(rewards: Any, groups: Union[int, Sequence[int], "Tensor"], **settings: Any) -> "Tensor":
    """Advantages [B], float32, of rewards [B], group by group. Groups of equal rewards have advantages of 0.

    groups: the size of each group, or the number of each response's group; the responses of a group are adjacent, and
    groups are of one size. settings: baseline, std, std_floor and std_epsilon, as [advantage] of a run has them.
    """
    _core.need_torch()
    import torch

    rewards_B = torch.as_tensor(rewards)
    if not rewards_B.dtype.is_floating_point:
        rewards_B = rewards_B.float()
    rewards_B = _as_tensor("rewards", rewards_B, rewards_B.dtype, None)
    if not rewards_B.isfinite().all():
        raise Error(f"`rewards` has {rewards_B[~rewards_B.isfinite()][0].item()}", "leave out what was not judged")
    if not isinstance(groups, int):
        number_B = _as_tensor("groups", groups, torch.int64, len(rewards_B))
        sizes = torch.unique_consecutive(number_B, return_counts=True)[1]
        if len(sizes.unique()) > 1 or len(sizes) != len(number_B.unique()):
            raise Error("the responses of a group are not adjacent, or groups differ in size", "sort them by group")
        groups = int(sizes[0]) if len(sizes) else 1
    if groups < 1 or len(rewards_B) % groups:
        raise Error(f"{len(rewards_B)} rewards are no whole groups of {groups}")
    return _core.call("advantages", rewards_B, groups, _core.items(settings))


def linear_log_softmax(hidden: "Tensor", head: "Tensor", targets: "Tensor") -> "Tensor":
    """log_softmax(hidden @ head.T) at the targets, differentiable in hidden and head: float32 (float64 for float64).

    hidden [..., H], head [V, H] of its type and on its device, targets [...] int64. Full logits are in memory only
    where a gradient is asked for, once, and become their own gradient; without one, a tile of them.
    """
    _core.need_torch()
    from ._head import apply

    return apply(hidden, head, targets)
