"""Rewards and tasks: components of texts, which need no torch."""

from __future__ import annotations

from dataclasses import dataclass

from .component import Component
from .random import RandomStream


@dataclass
class Item:
    """One problem of a task."""

    id: str  # unique within the task, the same in every run
    prompt: str  # the question; [prompt] of the configuration adds words and turns
    reference: str = ""  # what the reward needs to judge an answer
    demonstration: str = ""  # a response to imitate in `drift pretrain`
    response_prefix: str = ""  # first words of the response, given to the model


@dataclass
class Request:
    """A response to judge. What a model wrote is never an error, whatever it is."""

    response: str  # without special tokens; bytes that are not UTF-8 are replaced by U+FFFD
    item: Item
    truncated: bool = False  # the response ran out of positions before an end token


STATUSES = (
    "ok",
    "no_answer",
    "parse_error",
    "wrong",
    "timeout",
    "crashed",
    "resource",
    "forged",
    "infrastructure",  # could not be judged; never counts as 0: the group is dropped
)


@dataclass
class Verdict:
    """What a reward says of a response."""

    value: float  # in [0, 1]
    solved: bool  # what accuracy counts, independent of the value
    status: str = ""  # one of STATUSES; empty: "ok" if solved, else "wrong"
    reason: str = ""  # one line for the user


class Reward(Component):
    """Judges responses."""

    def score(self, request: Request) -> Verdict:
        """Deterministic: the same request gives the same verdict. Called from several threads, one at a time."""
        raise NotImplementedError


class Task(Component):
    """Makes problems."""

    def training_item(self, index: int, random: RandomStream) -> Item:
        """Item `index` (0, 1, 2, … without end), a function of `index` and `random` alone."""
        raise NotImplementedError

    def held_out_size(self) -> int:
        """How many held-out items there are. None of them is ever a training item."""
        raise NotImplementedError

    def held_out_item(self, index: int) -> Item:
        """Held-out item `index`, the same for every seed."""
        raise NotImplementedError
