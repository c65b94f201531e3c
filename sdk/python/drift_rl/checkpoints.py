"""A checkpoint in this process, and Drift's decoders on a torch function of one's own."""

from __future__ import annotations

import html
import inspect
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Union, cast

from drift import Error, Trajectories

from . import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from torch import device as Device

Prompt = Union[str, Sequence[int]]
Ids = Union["Tensor", "NDArray[Any]"]  # [B, P]
Forward = Union[Callable[["Tensor"], "Tensor"], Callable[["Tensor", Optional["Tensor"]], "Tensor"]]


def _listed(prompts: Any) -> Any:
    """Of prompts as a tensor or an array, the lists of ids."""
    return prompts.tolist() if hasattr(prompts, "tolist") else prompts


@dataclass(repr=False)
class Responses(Trajectories):
    """What a rollout wrote, on the CPU. The responses to a prompt are adjacent; group_B is its number."""

    texts: list[str] = field(default_factory=list)  # without special tokens; empty where there is no tokenizer
    pieces: list[list[str]] = field(default_factory=list)  # the text of each token, likewise

    @property
    def confidences(self) -> "Tensor":
        """[B, L]: the probability of each token when it was committed."""
        return self.commit_logprob_BL.exp()

    def __len__(self) -> int:
        return len(self.tokens_BL)

    def __repr__(self) -> str:
        return f"Responses({len(self)} of {self.tokens_BL.shape[1]} positions, forwards {self.forwards_B.tolist()})"

    def __str__(self) -> str:
        return "\n".join(self.texts) if self.texts else repr(self)

    def _repr_html_(self) -> str:
        """For a notebook: each response, its tokens from dark to light in the order in which they were committed."""
        rows = []
        for b in range(min(len(self), 8)):
            last = max(1, int(self.forwards_B[b]) - 1)
            spans = []
            for i, token in enumerate(self.tokens_BL[b].tolist()):
                step = int(self.step_BL[b, i])
                text = self.pieces[b][i] if self.pieces else str(token) + " "
                shade = 35 + round(55 * max(step, 0) / last)
                title = f"step {step}, p = {float(self.confidences[b, i]):.3f}" if step >= 0 else "never committed"
                spans.append(
                    f'<span title="{title}" style="background:hsl(210 60% {shade}%);'
                    f'color:{"white" if shade < 60 else "black"}">{html.escape(text)}</span>'
                )
            rows.append(f'<p style="white-space:pre-wrap;font-family:monospace">{"".join(spans)}</p>')
        more = f"<p>and {len(self) - 8} more</p>" if len(self) > 8 else ""
        return "".join(rows) + more


class Tokenizer:
    """The tokenizer of a checkpoint."""

    def __init__(self, checkpoint: Any):
        self._checkpoint = checkpoint

    def encode(self, text: str) -> list[int]:
        return list(_core.call("encode", self._checkpoint, text))

    def decode(self, ids: Sequence[int], skip_special: bool = False) -> str:
        return str(_core.call("decode", self._checkpoint, tuple(map(int, ids)), skip_special))


class Checkpoint:
    """A model with its weights; load() opens it."""

    def __init__(self, folder: Union[str, os.PathLike[str]], settings: dict[str, Any]):
        self._opened = _core.interruptible("open_checkpoint", os.fspath(folder), _core.items(settings))
        facts = _core.call("checkpoint_facts", self._opened)
        self.family, self.vocabulary_size, self.mask_id, self.pad_id = facts[:4]
        self.end_ids: tuple[int, ...] = facts[4]
        self.context_length, self.block_size, self.device, self._predicts_next = facts[5:9]
        self.forbidden_ids: tuple[tuple[int, int], ...] = facts[9]
        self.tokenizer = Tokenizer(self._opened)

    def generate(
        self,
        prompts: Union[Prompt, Sequence[Prompt], Ids],
        *,
        samples: int = 1,
        first: int = 1,
        raw: bool = False,
        **settings: Any,
    ) -> Responses:
        """Responses to prompts, each a text or a list of token ids, all written together. Ids may be a tensor, too.

        samples: responses to each prompt. first: number of the first response, from which its draws follow. raw: texts
        are all that the model reads; without it they get the words and marks of the run. settings: of the rollout, as
        [rollout] has them: length=64, steps=32, temperature=0.5, …; `rollout` is its name, `seed` that of its draws;
        other keys in full: **{"prompt.format": "chat"}. What is left out is as in the run that made the checkpoint.
        """
        given = prompts if isinstance(prompts, str) else [_listed(prompt) for prompt in _listed(prompts)]
        several = [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else given
        if not several:
            raise Error("there is no prompt")
        names = {"rollout": "rollout.name", "seed": "run.seed"}
        keys = {names.get(key, key if "." in key else f"rollout.{key}"): value for key, value in settings.items()}
        asked = tuple((p, ()) if isinstance(p, str) else (None, tuple(map(int, p))) for p in several)
        fields, texts = _core.interruptible(
            "generate",
            self._opened,
            _core.items(keys),
            asked,
            raw,
            samples,
            first - 1,
            cancel=lambda: _core.call("cancel", self._opened),
        )
        made = Responses(*fields)
        made.texts = list(texts)
        made.pieces = [[self.tokenizer.decode([token]) for token in row] for row in made.tokens_BL.tolist()]
        return made

    def logits(self, tokens: "Tensor", mask: Optional["Tensor"] = None) -> "Tensor":
        """Logits [B, S, V] of the token at each place of `tokens` [B, S], without gradients, on the model's device. 0
        at the first place where a model predicts the next token. mask [B, S] bool: false is padding, on the left."""
        import torch

        place = torch.ones_like(tokens, dtype=torch.bool)
        place[:, : int(self._predicts_next)] = False
        rows = place.flatten().nonzero().squeeze(1)
        predicted = self._hidden(tokens, mask, rows) @ self.head.t()
        logits = predicted.new_zeros(tokens.numel(), self.vocabulary_size)
        return logits.index_copy_(0, rows.to(predicted.device), predicted).view(*tokens.shape, -1)

    def logprobs(self, tokens: "Tensor", masked: "Tensor", mask: Optional["Tensor"] = None) -> "Tensor":
        """Log-probabilities [B, S] of the tokens where `masked` is true, with the mask token in the place of all of
        those; 0 elsewhere. float32, without gradients, on the model's device; full logits are never in memory."""
        import torch

        from .estimators import linear_log_softmax

        if masked.dtype != torch.bool or masked.shape != tokens.shape:
            raise Error(f"`masked` is {list(masked.shape)} of {masked.dtype}, not bool {list(tokens.shape)}")
        rows = masked.flatten().nonzero().squeeze(1)
        hidden = self._hidden(tokens.masked_fill(masked, self.mask_id), mask, rows)
        targets = tokens.flatten()[rows].to(hidden.device)
        found = linear_log_softmax(hidden, self.head, targets)
        return found.new_zeros(tokens.numel()).index_copy_(0, rows.to(found.device), found).view(tokens.shape)

    @property
    def head(self) -> "Tensor":
        """The weight of the LM head, [V, H]: the model's own memory."""
        return _core.call("head", self._opened)

    def _hidden(self, tokens: "Tensor", mask: Optional["Tensor"], rows: "Tensor") -> "Tensor":
        import torch

        if tokens.dtype != torch.int64 or tokens.dim() != 2 or tokens.numel() == 0:
            raise Error(f"`tokens` is {list(tokens.shape)} of {tokens.dtype}, not int64 [B, S]")
        if not (0 <= int(tokens.min()) and int(tokens.max()) < self.vocabulary_size):
            raise Error(f"`tokens` has an id outside the vocabulary of {self.vocabulary_size}")
        if mask is not None and (mask.dtype != torch.bool or mask.shape != tokens.shape):
            raise Error(f"`mask` is {list(mask.shape)} of {mask.dtype}, not bool {list(tokens.shape)}")
        return _core.interruptible("hidden", self._opened, tokens, mask, rows)

    def __repr__(self) -> str:
        return f"<drift_rl.Checkpoint {self.family}, vocabulary {self.vocabulary_size}, on {self.device}>"


def load(
    checkpoint: Union[str, os.PathLike[str]], device: Union[str, "Device", None] = None, **settings: Any
) -> Checkpoint:
    """Opens the folder of a checkpoint. device: "cpu" or "cuda". settings: of [model], as dtype="bfloat16"; other keys
    in full. Ctrl-C ends the wait for this and for forwards, which go on unobserved."""
    keys = {key if "." in key else f"model.{key}": value for key, value in settings.items()}
    if device is not None:
        keys["run.device"] = device
    return Checkpoint(checkpoint, keys)


def rollout(
    forward: Forward,
    prompts: Union[Sequence[Sequence[int]], Ids],
    *,
    mask_id: int,
    vocabulary_size: int,
    pad_id: int = 0,
    end_id: int = -1,
    forbidden_ids: Sequence[tuple[int, int]] = (),
    samples: int = 1,
    first: int = 1,
    seed: int = 1,
    step: int = 0,
    name: str = "block",
    device: Union[str, "Device"] = "cpu",
    **settings: Any,
) -> Responses:
    """Writes responses with a decoder of Drift, by a function of one's own.

    forward(tokens [B, S] int64, mask [B, S] bool) -> logits [B, S, V]: of the token at each place, of prompt and
    response with the mask token where nothing is committed. mask is None without padding, which is on the left. It is
    given to a function that has a parameter named `mask`, or two parameters without defaults; another one gets tokens
    alone, and then all prompts must be of one length. prompts: token ids of each, or a tensor [B, P].
    forbidden_ids: ranges [first, end) that are never written, besides the mask. samples, first, seed: as for
    Checkpoint.generate. step: with it the draws are those of that step, from 1, of a run with this seed. name,
    settings: the rollout, as [rollout] has it: length=64, steps=32, … device: that of the function's tensors. What
    `forward` raises is raised here.

    Blocks of `block` positions are counted from the response's start. Where prompts of a model with block attention are
    no multiples of its block, only load(…).generate decodes as the model was trained.
    """
    _core.need_torch()
    import torch

    prompts = [_listed(prompt) for prompt in _listed(prompts)]
    if not prompts or any(len(prompt) == 0 for prompt in prompts):
        raise Error("there is no prompt, or an empty one")
    longest = max(map(len, prompts))
    ragged = any(len(prompt) != longest for prompt in prompts)
    parameters = inspect.signature(getattr(forward, "forward", forward)).parameters  # of a module, its method
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters.values() if one.kind in positional and one.default is one.empty]
    two, named, asked = len(needed) == 2, "mask" in parameters, cast("Any", forward)
    if ragged and not (two or named):
        raise Error("prompts differ in length, and `forward` takes no mask", "def forward(tokens, mask): …")
    tokens = torch.tensor([[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[False] * (longest - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    repeated = [tensor.repeat_interleave(samples, 0) for tensor in (tokens, mask, torch.arange(len(prompts)))]
    raised: list[BaseException] = []

    def checked(tokens_BS: "Tensor", mask_BS: Optional["Tensor"]) -> "Tensor":
        try:
            given = (tokens_BS, mask_BS) if two else (tokens_BS,)
            logits = asked(*given, mask=mask_BS) if named and not two else asked(*given)
            if not isinstance(logits, torch.Tensor):
                hint = "return its .logits" if hasattr(logits, "logits") else ""
                raise Error(f"`forward` must return logits, a tensor [B, S, V], not {type(logits).__name__}", hint)
            expected = (*tokens_BS.shape, vocabulary_size)
            if tuple(logits.shape) != expected or not logits.dtype.is_floating_point:
                raise Error(f"forward() gives {list(logits.shape)} of {logits.dtype}, not logits {list(expected)}")
            return logits.detach()
        except BaseException as error:
            raised.append(error)
            raise

    decoder = _core.call("make_rollout", name, _core.items(settings))
    traits = (vocabulary_size, mask_id, pad_id, end_id, 1 << 30, ((mask_id, mask_id + 1), *forbidden_ids))
    try:
        fields = _core.interruptible(
            "decode_by",
            decoder,
            checked,
            traits,
            str(device),
            tuple(repeated),
            (seed, first - 1, step),
            cancel=lambda: _core.call("cancel_rollout", decoder),
        )
    except Error:
        if raised:
            raise raised[0] from None
        raise
    return Responses(*fields)
