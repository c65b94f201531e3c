"""loss(): values, metrics and gradients are those of `drift loss`, over all of its cases."""

import copy
import dataclasses
import json
import math

import drift_rl
import pytest
import torch
from conftest import SOURCE

FILES = [
    *sorted((SOURCE / "tests/golden/losses").glob("*.json")),
    *sorted((SOURCE / "tests/golden/block/losses").glob("*.json")),
]
FILES = [file for file in FILES if file.stem not in ("value_block", "tracerl_block_far")]  # which `drift loss` refuses


def merged(base, patch):
    """RFC 7396, as the cases' variants are."""
    if not isinstance(patch, dict):
        return patch
    out = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(out.get(key), value)
    return out


def cases(file):
    case = json.loads(file.read_text())
    variants = case.pop("variants", {})
    if "expected" in case or not variants:
        yield "", case
    for name, patch in variants.items():
        yield name, merged(copy.deepcopy(case), patch)


def bits(text):
    return [one == "1" for one in text]


def rows(case, key, default=None):
    logarithm = case.get("values") == "probabilities" and key in ("current", "old", "reference")
    table = []
    for view in case["views"]:
        values = view.get(key, view.get(default) if default else None)
        if values is None:
            return None
        scored = bits(view.get("scored", view["masked"]))
        table.append(
            [(math.log(v) if logarithm else v) if s and v is not None else 0.0 for v, s in zip(values, scored)]
        )
    return torch.tensor(table, dtype=torch.float64)


def plan_of(case, valid):
    views = case["views"]
    response = torch.tensor([view["response"] for view in views])
    masked = torch.tensor([bits(view["masked"]) for view in views])
    given = [bits(view["scored"]) if "scored" in view else None for view in views]
    target = torch.stack(
        [masked[f] & valid[response[f]] if scored is None else torch.tensor(scored) for f, scored in enumerate(given)]
    )
    committed = [torch.tensor(bits(v["committed"])) if "committed" in v else target[f] for f, v in enumerate(views)]
    term = torch.tensor([view.get("forward", 0) for view in views])
    weights = rows(case, "token_weights")
    if weights is None and "level" in views[0]:
        level = rows(case, "level")
        weights = torch.where(level > 0, 1 / level, torch.ones_like(level))
    return drift_rl.Plan(
        response_F=response,
        term_F=term,
        masked_FL=masked,
        target_FL=target,
        terms=case.get("forwards", int(term.max()) + 1),
        committed_FL=torch.stack(committed),
        weight_F=torch.tensor([float(view.get("weight", 1)) for view in views], dtype=torch.float64),
        token_weight_FL=weights,
    )


def token_advantages(case, plan):
    own = rows(case, "token_advantage")
    if own is None:
        return None
    whole = torch.zeros(len(case["advantage"]), own.shape[1], dtype=torch.float64)
    for view, response in enumerate(plan.response_F.tolist()):
        whole[response] = torch.where(plan.target_FL[view], own[view], whole[response])
    return whole


def evaluate(case, name):
    length, responses = len(case["views"][0]["masked"]), len(case["advantage"])
    valid = torch.tensor([bits(row) for row in case["valid"]]) if "valid" in case else torch.ones(responses, length) > 0
    plan = plan_of(case, valid)
    parameters = {key: value for key, value in case.get("parameters", {}).items() if value is not None}
    loss = drift_rl.loss(name, **parameters)
    current = rows(case, "current").requires_grad_()
    value = loss(
        current,
        torch.tensor(case["advantage"], dtype=torch.float64),
        plan,
        old=rows(case, "old", "current"),
        reference=rows(case, "reference"),
        entropy=rows(case, "entropy"),
        reference_entropy=rows(case, "reference_entropy"),
        token_advantages=token_advantages(case, plan),
        valid=valid,
        responses=case.get("responses"),
        group_size=case.get("group_size"),
        optimizer_steps=case.get("optimizer_steps", 1),
    )
    (gradient,) = torch.autograd.grad(value, current) if value.requires_grad else (torch.zeros_like(current),)
    return value.item(), gradient, loss.metrics


ALL = [
    pytest.param(file, variant, case, id=f"{file.stem}-{variant}") for file in FILES for variant, case in cases(file)
]


@pytest.fixture(scope="module")
def of_program(drift, json_lines):
    """What `drift loss` says of each case of a file."""
    known = {}

    def results(file):
        if file not in known:
            name = json.loads(file.read_text())["loss"]
            lines = json_lines(drift("loss", name, "--case", file, "--json"))
            known[file] = {line.get("variant", ""): line for line in lines}
        return known[file]

    return results


@pytest.mark.parametrize("file, variant, case", ALL)
def test_equals_drift_loss(file, variant, case, of_program):
    expected = of_program(file)[variant]
    value, gradient, metrics = evaluate(case, case["loss"])
    assert value == pytest.approx(expected["loss"], rel=1e-14, abs=1e-15)
    assert torch.allclose(gradient, torch.tensor(expected["gradient"], dtype=torch.float64), rtol=1e-13, atol=1e-15)
    for name, metric in metrics.items():
        assert metric == pytest.approx(expected["metrics"][name], rel=1e-13, abs=1e-15)


@pytest.fixture
def small():
    """Two responses of three tokens, a view each."""
    plan = drift_rl.Plan(
        response_F=torch.arange(2),
        term_F=torch.zeros(2, dtype=torch.int64),
        masked_FL=torch.ones(2, 3, dtype=torch.bool),
        target_FL=torch.ones(2, 3, dtype=torch.bool),
        terms=1,
    )
    return torch.full((2, 3), -1.0, requires_grad=True), torch.tensor([1.0, -1.0]), plan


def test_a_gradient_reaches_a_model_of_torch(small):
    current, advantage, plan = small
    weight = torch.tensor(0.5, requires_grad=True)
    drift_rl.loss("d1")(current * weight, advantage, plan, reference=current.detach() * 0.5).backward()
    assert weight.grad is not None and torch.isfinite(weight.grad)


def test_without_gradients(small):
    current, advantage, plan = small
    loss = drift_rl.loss("tracerl", beta=0.0)
    with torch.no_grad():
        value = loss(current, advantage, plan)
    assert not value.requires_grad and value.item() == loss(current, advantage, plan).item()


def test_what_does_not_fit_is_an_error_that_says_so(small):
    current, advantage, plan = small
    loss = drift_rl.loss("tracerl", beta=0.0)
    for dtype in (torch.int64, torch.float16, torch.bfloat16):
        with pytest.raises(drift_rl.Error, match=r"not \[F, L\] of float32 or float64"):
            loss(current.to(dtype), advantage.to(dtype), plan)
    with pytest.raises(drift_rl.Error, match=r"`masked_FL` must be bool \[2, 2\].*, not bool \[2, 3\]"):
        loss(current[:, :2], advantage, plan)
    with pytest.raises(drift_rl.Error, match="`advantages` must be .* on cpu, not .* on meta"):
        loss(current, advantage.to("meta"), plan)
    with pytest.raises(drift_rl.Error, match="`old` must be float32.*, not float64"):
        loss(current, advantage, plan, old=current.detach().double())
    with pytest.raises(drift_rl.Error, match=r"`valid` must be bool \[2, 3\]"):
        loss(current, advantage, plan, valid=torch.ones(2, 2) > 0)
    assert drift_rl.loss("tracerl", beta=0.1).needs == ("old", "reference")
    with pytest.raises(drift_rl.Error, match="needs `reference`"):
        drift_rl.loss("tracerl", beta=0.1)(current, advantage, plan)


@pytest.mark.parametrize(
    "field, value, text",
    [
        ("terms", -3, "terms .* at least 1"),
        ("term_F", torch.tensor([0, 1]), r"term_F must be in \[0, terms\)"),
        ("response_F", torch.tensor([0, 2]), "response_F points beyond the responses"),
        ("weight_F", torch.tensor([1, 2]), "`weight_F` must be float32"),
        ("committed_FL", torch.ones(1, 3) > 0, "`committed_FL` must be bool"),
        ("masked_FL", None, "`masked_FL` must be bool"),
    ],
)
def test_a_plan_that_is_none_is_refused(small, field, value, text):
    current, advantage, plan = small
    with pytest.raises(drift_rl.Error, match=text):
        drift_rl.loss("rldf", beta=0.0)(current, advantage, dataclasses.replace(plan, **{field: value}))


@pytest.mark.parametrize("total", [{"responses": 1}, {"group_size": -2}, {"optimizer_steps": -1}])
def test_totals_that_cannot_be_are_refused(small, total):
    current, advantage, plan = small
    with pytest.raises(drift_rl.Error, match="`responses` must be at least the number of advantages"):
        drift_rl.loss("rldf", beta=0.0)(current, advantage, plan, **total)


def test_non_contiguous_and_empty(small):
    current, advantage, plan = small
    loss = drift_rl.loss("tracerl", beta=0.0)
    turned = current.detach().t().contiguous().t().requires_grad_()
    assert not turned.is_contiguous()
    assert loss(turned, advantage, plan).item() == loss(current, advantage, plan).item()
    none = drift_rl.Plan(**{name: v[:0] if torch.is_tensor(v) else v for name, v in vars(plan).items()})
    assert loss(current[:0], advantage, none).item() == 0


def test_names_are_suggested():
    with pytest.raises(drift_rl.Error, match="no plugin provides a loss `esop`") as raised:
        drift_rl.loss("esop")
    assert "espo" in raised.value.hint
    with pytest.raises(drift_rl.Error, match="has no parameter `eps_lo`") as raised:
        drift_rl.loss("espo", eps_lo=0.1)
    assert "eps_low" in raised.value.hint
    with pytest.raises(drift_rl.Error, match="must be number, not text"):
        drift_rl.loss("espo", eps_low="a")


def test_a_loss_in_python_is_the_same_class_in_both_doors(small, source):
    import drift

    current, advantage, plan = small
    assert drift_rl.Loss is drift.Loss
    loss = drift_rl.loss("python", file=source / "sdk/examples/soft_clip_python/soft_clip.py:SoftClip", width=2.0)
    loss(current, advantage, plan, old=current.detach() - 0.1).backward()
    assert current.grad is not None and current.grad[0, 0] == -current.grad[1, 0] < 0
    with pytest.raises(drift_rl.Error, match="has no loss `SoftClap`"):
        drift_rl.loss("python", file=source / "sdk/examples/soft_clip_python/soft_clip.py:SoftClap")
