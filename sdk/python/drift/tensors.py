"""Losses and masking strategies: components of tensors, which need torch.

The letters at the end of a name are the tensor's shape: B responses, L response positions, P prompt tokens, F views
(masked contexts that are scored).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Optional

from .component import Component
from .random import RandomStream

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class Plan:
    """The masked contexts that are scored: a flat list of F views, in any order."""

    response_F: Tensor  # int64, the response
    term_F: Tensor  # int64 in [0, terms): which term of the estimator's sum the view belongs to
    masked_FL: Tensor  # bool, response positions replaced by the mask token
    target_FL: Tensor  # bool, positions that are scored
    terms: int  # K: the estimator's sum has this many terms per response
    committed_FL: Optional[Tensor] = None  # bool, targets committed by this very step; None: all targets
    weight_F: Optional[Tensor] = None  # float32; None: 1
    prompt_masked_FP: Optional[Tensor] = None  # bool, prompt positions replaced by the mask token; None: none
    attended_FL: Optional[Tensor] = None  # bool, response positions that others attend to; None: all
    token_weight_FL: Optional[Tensor] = None  # float32, weight of each target; None: 1
    target_step_FL: Optional[Tensor] = None  # int64, of each target its place in the order of writing; None: its term
    block_origin: int = 0  # of a model with block attention: blocks begin at the text (0) or at the response (1)
    first_of_block: int = 0  # likewise: a block's first token is predicted by the clean (0) or the noisy (1) one before


# The order in which the program hands over a Plan.
PLAN_FIELDS = (
    *("response_F", "term_F", "masked_FL", "target_FL", "committed_FL", "weight_F", "prompt_masked_FP"),
    *("attended_FL", "token_weight_FL", "target_step_FL", "terms", "block_origin", "first_of_block"),
)
plan_fields = attrgetter(*PLAN_FIELDS)


def plan_of(fields: tuple[Any, ...]) -> Plan:
    return Plan(**dict(zip(PLAN_FIELDS, fields)))


@dataclass
class Totals:
    """Totals of the complete plan, of which a call may see only some views."""

    responses: int  # B: kept responses, including those without a view
    group_size: int
    terms: int  # K of the plan
    targets: int  # scored positions of all views
    optimizer_steps: int  # per rollout
    views: int  # F of the plan


@dataclass
class LossInput:
    """The views of one call: one or more complete units of Loss.coupling. Log-probabilities are those of the sampled
    tokens at the targets, float32, 0 elsewhere. What is lent is not changed: no operation in place."""

    plan: Plan
    current_FL: Tensor  # differentiable
    old_FL: Optional[Tensor] = None  # of the policy that wrote the responses; None unless needed
    reference_FL: Optional[Tensor] = None  # of the reference policy; None unless needed
    entropy_FL: Optional[Tensor] = None  # of the predicted distribution, differentiable; None unless needed
    reference_entropy_FL: Optional[Tensor] = None  # None unless both are needed
    advantage_B: Tensor = None  # type: ignore[assignment]  # float32, of all responses; plan.response_F indexes it
    valid_BL: Optional[Tensor] = None  # bool, of all responses
    scored_B: Optional[Tensor] = None  # int64, of all responses: positions that at least one view of the plan scores
    advantage_BL: Optional[Tensor] = None  # float32, of all responses and tokens; None: advantages are per response
    totals: Totals = None  # type: ignore[assignment]  # in a unit test, without it: those of `plan`
    metrics: list[Any] = field(default_factory=list)  # what add_mean() and add_ratio() were given

    def __post_init__(self) -> None:
        if self.totals is None:
            responses, views = len(self.advantage_B), len(self.plan.response_F)
            targets = int(self.plan.target_FL.sum())
            self.totals = Totals(responses, responses, self.plan.terms, targets, 1, views)

    @property
    def advantage_F1(self) -> Tensor:
        """The advantage of each view's response."""
        return self.advantage_B.index_select(0, self.plan.response_F).unsqueeze(1)

    @property
    def token_advantage(self) -> Tensor:
        """The advantage of each token, [F, L], or [F, 1] if it is the response's. A token loss multiplies by it."""
        if self.advantage_BL is None:
            return self.advantage_F1
        return self.advantage_BL.index_select(0, self.plan.response_F)

    def token_mean(self, values_FL: Tensor) -> Tensor:
        """Sum over the targets / number of targets in the whole batch: the same for any split of the views."""
        return where(self.plan.target_FL, values_FL).sum() / float(max(self.totals.targets, 1))

    def add_mean(self, name: str, values: Tensor, where_true: Tensor) -> None:
        """Logs `loss/name`: the mean of the values where `where_true` is true."""
        self.add_ratio(name, where(where_true, values.detach()).sum(), where_true.sum())

    def add_ratio(self, name: str, total: Tensor, count: Tensor) -> None:
        """Logs `loss/name`: total / count, two 0-d tensors, each added up over all views first."""
        self.metrics.append((name, total.detach(), count.detach()))


def where(condition: Tensor, values: Tensor) -> Tensor:
    """The values where the condition is true, 0 elsewhere."""
    return values.where(condition, values.new_zeros(()))


def log_ratio(numerator: Tensor, denominator: Tensor, targets: Tensor, clamp: float) -> Tensor:
    """ln(numerator / denominator) of log-probabilities, 0 where `targets` is false, no gradient beyond +-clamp. Dropped
    values must not reach exp(): its infinite gradient would survive a multiplication by 0."""
    return where(targets, numerator - denominator).clamp(-clamp, clamp)


class Loss(Component):
    """A pure differentiable function of log-probabilities: it never runs the model."""

    coupling: str  # "view": a sum over views; "response": the views of a response belong together; "batch": all do
    needs: tuple[str, ...] = ("old",)  # of "old", "reference", "entropy": what is computed besides current_FL

    def evaluate(self, input: LossInput) -> Tensor:
        """The loss over the given views, 0-d. The values of different calls add up to the loss of the batch: divide by
        `input.totals`, never by what one call happens to see."""
        raise NotImplementedError


@dataclass
class Trajectories:
    """What a rollout records of B responses of L positions, on the CPU."""

    prompt_tokens_BP: Tensor  # int64, padded on the left
    prompt_mask_BP: Tensor  # bool, true: a real token
    group_B: Tensor  # int64, number of the response's group
    tokens_BL: Tensor  # int64, the final tokens
    valid_BL: Tensor  # bool, neither pad nor mask token
    step_BL: Tensor  # int32, forward that committed the position; -1: never
    commit_logprob_BL: Tensor  # float32, log-probability at commit time, temperature 1; 0 if never committed
    forwards_B: Tensor  # int64, forwards that the response took part in


@dataclass
class MaskingInput:
    """The responses of one rollout, and what a strategy draws with."""

    trajectories: Trajectories
    random: RandomStream  # draw at step=input.step, response=input.response_number_B, position, draw
    step: int  # training step
    response_number_B: Tensor  # int64, the response's number in the rollout, which differs from its place in the batch
    inner_iteration: int = 0
    end_id: int = -1  # the model's end token; may equal pad_id
    pad_id: int = -1
    end_ids_E: Optional[Tensor] = None  # int64, all tokens that end a response; None: end_id alone

    @property
    def through_end_BL(self) -> Tensor:
        """bool: the positions up to the first end token, itself included; all if there is none."""
        tokens_BL = self.trajectories.tokens_BL
        ends_BL = tokens_BL == self.end_id
        if self.end_ids_E is not None:
            ends_BL = (tokens_BL.unsqueeze(-1) == self.end_ids_E).any(-1)
        return (ends_BL.cumsum(1) - ends_BL.long()) == 0


class Masking(Component):
    """Chooses which masked contexts are scored, and at which positions."""

    refresh: str = "once_per_rollout"  # or "each_inner_iteration": how often a plan is drawn

    def plan(self, input: MaskingInput) -> Plan:
        """Tensors on the CPU. A response without a training signal gets no view."""
        raise NotImplementedError
