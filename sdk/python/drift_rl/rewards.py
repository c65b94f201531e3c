"""Drift's rewards, on texts."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

from drift import Error

from . import _core


class Score(NamedTuple):
    """What a reward says of a response."""

    value: float  # in [0, 1]; with `weight` or `added` rewards, the weighted sum of such values
    solved: bool  # what accuracy counts
    status: str  # "ok", "no answer", "wrong", "timeout", …; "infrastructure": it could not be judged
    reason: str  # one line


class Judge:
    """A reward of Drift; reward() makes it."""

    def __init__(self, name: str, parameters: dict[str, Any]):
        self.name = name
        keys = {key if "." in key else f"reward.{key}": value for key, value in parameters.items()}
        self.settings = {"reward.name": name, **keys}
        self._made = _core.call("make_judge", _core.items(self.settings))

    def __call__(
        self,
        responses: Sequence[str],
        references: Sequence[str],
        *,
        questions: Optional[Sequence[str]] = None,
        truncated: Optional[Sequence[bool]] = None,
    ) -> list[Score]:
        """The scores of responses, in their order; judged on all processors.

        references: what each is judged by, in the form that the reward reads (docs/data.md). truncated: which ran out
        of positions before they ended; what `truncation_is_wrong` makes of that is left to a run. Ctrl-C ends the wait,
        and the judging goes on unobserved.
        """
        if any(isinstance(given, str) for given in (responses, references, questions)):
            raise Error("responses, references and questions are lists of texts, not a text", "[response], [reference]")
        questions = [""] * len(responses) if questions is None else questions
        truncated = [False] * len(responses) if truncated is None else truncated
        lengths = {len(responses), len(references), len(questions), len(truncated)}
        if len(lengths) > 1:
            raise Error(f"there are {len(responses)} responses and {len(references)} references", "one for each")
        asked = tuple(zip(responses, references, questions, map(bool, truncated)))
        return [Score(*one) for one in _core.interruptible("judge", self._made, asked)]


def reward(name: str, **parameters: Any) -> Judge:
    """The reward of that name, with these values of its parameters (`drift plugin info NAME` lists them), or those of
    a run: reward(**run.config["reward"])."""
    return Judge(name, parameters)
