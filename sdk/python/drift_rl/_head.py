"""The LM head as a function of autograd."""

from __future__ import annotations

from typing import Any

import torch
from drift import Error
from torch import Tensor

from . import _core


class _LinearLogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, hidden_NH: Tensor, head_VH: Tensor, target_N: Tensor) -> Tensor:
        keep = any(context.needs_input_grad[:2])
        logprob_N, context.logits = _core.call("forward_head", hidden_NH, head_VH, target_N, keep)
        context.save_for_backward(hidden_NH, head_VH, target_N)
        return logprob_N

    @staticmethod
    def backward(context: Any, gradient_N: Tensor) -> tuple[Any, Any, None]:
        if torch.is_grad_enabled():  # by create_graph
            raise Error("linear_log_softmax has no second derivative", "differentiate without create_graph=True")
        inputs = context.saved_tensors
        # The logits become their gradient: a second backward through the same graph makes them again.
        logits = context.logits or _core.call("forward_head", *inputs, True)[1]
        context.logits = None
        made = _core.call("backward_head", logits, gradient_N, context.needs_input_grad[1])
        hidden_NH, head_VH = (g if g is None else g.to(i.dtype) for g, i in zip(made, inputs))
        return hidden_NH, head_VH, None


def apply(hidden: Tensor, head: Tensor, targets: Tensor) -> Tensor:
    if not hidden.dtype.is_floating_point:
        raise Error(f"`hidden` is of {hidden.dtype}", "hidden states are of float32, float64, bfloat16 or float16")
    _core.check("head", head, (head.shape[0], hidden.shape[-1]), hidden.dtype, hidden.device)
    _core.check("targets", targets, hidden.shape[:-1], torch.int64, hidden.device)
    if targets.numel() == 0:
        return hidden.new_zeros(targets.shape).float() + 0 * hidden.sum()
    if bool(((targets < 0) | (targets >= head.shape[0])).any()):
        raise Error(f"a target is outside the vocabulary of {head.shape[0]} tokens")
    rows = hidden.reshape(-1, hidden.shape[-1]).contiguous()
    return _LinearLogSoftmax.apply(rows, head.contiguous(), targets.reshape(-1).contiguous()).view(targets.shape)
