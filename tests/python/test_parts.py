"""linear_log_softmax(), advantages() and reward()."""

import json
import math

import drift_rl
import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_head_without_logits_is_the_head_with_them(dtype):
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(3, 5, 16, generator=generator).to(dtype).requires_grad_()
    head = torch.randn(40, 16, generator=generator).to(dtype).requires_grad_()
    targets = torch.randint(0, 40, (3, 5), generator=generator)
    weight = torch.randn(3, 5, generator=generator)
    found = drift_rl.linear_log_softmax(hidden, head, targets)
    logits = (hidden @ head.t()).to(found.dtype)
    expected = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 0.05}[dtype]
    assert found.shape == targets.shape and torch.allclose(found, expected, atol=tolerance)
    ours = torch.autograd.grad((found * weight).sum(), (hidden, head), retain_graph=False)
    theirs = torch.autograd.grad((expected * weight).sum(), (hidden, head))
    for own, other in zip(ours, theirs):
        assert own.dtype == dtype and torch.allclose(own.double(), other.double(), rtol=tolerance, atol=10 * tolerance)


def test_the_heads_gradient_by_finite_differences():
    hidden = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    head = torch.randn(9, 6, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([1, 8, 0, 3])
    assert torch.autograd.gradcheck(lambda h, w: drift_rl.linear_log_softmax(h, w, targets), (hidden, head))


def test_the_head_without_gradients_and_its_mistakes():
    hidden, head = torch.randn(2, 4), torch.randn(7, 4)
    assert not drift_rl.linear_log_softmax(hidden, head, torch.tensor([1, 2])).requires_grad
    assert drift_rl.linear_log_softmax(hidden[:0], head, torch.tensor([], dtype=torch.int64)).shape == (0,)
    turned = torch.randn(4, 2).t()
    assert drift_rl.linear_log_softmax(turned, head, torch.tensor([1, 2])).shape == (2,)
    with pytest.raises(drift_rl.Error, match=r"`targets` is \[3\]"):
        drift_rl.linear_log_softmax(hidden, head, torch.tensor([1, 2, 3]))
    with pytest.raises(drift_rl.Error, match="`head` is .* of torch.float64"):
        drift_rl.linear_log_softmax(hidden, head.double(), torch.tensor([1, 2]))
    with pytest.raises(drift_rl.Error, match="outside the vocabulary"):
        drift_rl.linear_log_softmax(hidden, head, torch.tensor([1, 7]))
    with pytest.raises(drift_rl.Error, match="`head` is .* on meta"):
        drift_rl.linear_log_softmax(hidden, head.to("meta"), torch.tensor([1, 2]))
    for dtype in (torch.int64, torch.complex64):
        with pytest.raises(drift_rl.Error, match=f"`hidden` is of {dtype}"):
            drift_rl.linear_log_softmax(hidden.to(dtype), head.to(dtype), torch.tensor([1, 2]))


def test_the_head_has_no_second_derivative():
    hidden, head = torch.randn(2, 4, requires_grad=True), torch.randn(7, 4)
    value = drift_rl.linear_log_softmax(hidden, head, torch.tensor([1, 2])).sum() + (hidden**3).sum()
    with pytest.raises(drift_rl.Error, match="no second derivative"):
        torch.autograd.grad(value, hidden, create_graph=True)


def test_advantages():
    rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    found = drift_rl.advantages(rewards, 4, std="sample")
    assert found.tolist() == pytest.approx([1.5, -0.5, -0.5, -0.5, 0, 0, 0, 0], abs=1e-6)
    assert torch.equal(found, drift_rl.advantages(rewards, [3, 3, 3, 3, 5, 5, 5, 5]))
    leave_one_out = drift_rl.advantages(rewards, 4, baseline="leave_one_out", std="none")
    assert leave_one_out[:4].tolist() == pytest.approx([1.0, -1 / 3, -1 / 3, -1 / 3])
    with pytest.raises(drift_rl.Error, match="no whole groups of 3"):
        drift_rl.advantages(rewards, 3)
    with pytest.raises(drift_rl.Error, match="not adjacent"):
        drift_rl.advantages(rewards, [1, 2, 1, 2, 1, 2, 1, 2])
    with pytest.raises(drift_rl.Error, match="`baseline`"):
        drift_rl.advantages(rewards, 4, baseline="median")
    with pytest.raises(drift_rl.Error, match="has no parameter `stdd`") as raised:
        drift_rl.advantages(rewards, 4, stdd="none")
    assert "std" in raised.value.hint
    for value in (math.nan, math.inf):
        with pytest.raises(drift_rl.Error, match=f"`rewards` has {value}"):
            drift_rl.advantages([value, 0.0], 2)


def test_rewards_are_those_of_the_program(drift, json_lines, tmp_path):
    responses = [r"so \boxed{\frac{1}{2}}", r"\boxed{0.51}", "no answer"]
    file = tmp_path / "responses.jsonl"
    file.write_text("".join(json.dumps({"response": one, "reference": "1/2"}) + "\n" for one in responses))
    expected = json_lines(drift("reward", "math", "--in", file, "--json"))
    found = drift_rl.reward("math")(responses, ["1/2"] * 3)
    assert [score.value for score in found] == [line["score"] for line in expected]
    assert [(s.solved, s.status, s.reason) for s in found] == [
        (e["solved"], e["status"], e["reason"]) for e in expected
    ]
    assert found[0].solved and not found[1].solved


def test_code_runs_in_its_sandbox():
    tests = json.dumps({"test_list": ["assert add(2, 3) == 5"], "data_type": "code_function"})
    good, bad = drift_rl.reward("code")(
        ["```python\ndef add(a, b):\n    return a + b\n```", "```python\ndef add(a, b):\n    return a - b\n```"],
        [tests] * 2,
    )
    if good.status == "infrastructure":
        pytest.skip(good.reason)
    assert good.solved and not bad.solved


def test_rewards_of_a_run():
    """As run.config["reward"] has them: their values are summed with weights."""
    judge = drift_rl.reward(name="math", weight=2.0, added={"boxed": {"name": "format", "weight": 0.5}})
    score, plain = judge([r"\boxed{1}", "1"], ["1", "1"])
    assert score.value >= 2 and score.solved and not plain.solved


def test_mistakes_are_errors_with_hints():
    with pytest.raises(drift_rl.Error, match="^unknown reward `maht`") as raised:
        drift_rl.reward("maht")
    assert raised.value.hint.startswith("rewards: code, ") and not raised.value.hint.endswith("\n")
    with pytest.raises(drift_rl.Error, match="are lists of texts"):
        drift_rl.reward("math")("12", "12")
    with pytest.raises(drift_rl.Error, match="2 responses and 1 references"):
        drift_rl.reward("math")(["a", "b"], ["c"])
