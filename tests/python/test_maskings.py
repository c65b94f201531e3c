"""masking(): plans are those of `drift plan`, for every algorithm; and what is drawn for a response is its own."""

import json

import drift_rl
import pytest
import torch

ALGORITHMS = ["rldf", "d1", "espo", "coupled_grpo", "tracerl", "wd1", "spg", "d2", "agrpo", "gdpo", "mdpo", "bgpo"]
ALGORITHMS += ["unigrpo", "dipo", "ebpo", "cj_grpo"]


@pytest.fixture(scope="module")
def written(drift, source, tmp_path_factory):
    """Four responses of the quickstart's model, and their file."""
    file = tmp_path_factory.mktemp("responses") / "written.jsonl"
    out = ""
    for seed in (1, 2):
        prompt = "<|startoftext|>0040\n4301\n0004\n1400<|sep|>"
        model, config = source / "assets/sudoku-llada", source / "configs/quickstart.toml"
        out += drift(
            "generate", model, "--config", config, "--prompt", prompt, "--samples", 2, "--seed", seed, "--json"
        )
    file.write_text(out)
    return file, [json.loads(line) for line in out.splitlines()]


def positions(row):
    return row.nonzero().squeeze(1).tolist()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equals_drift_plan(algorithm, written, drift, source):
    file, records = written
    run = [source / "configs/quickstart.toml", "--algorithm", algorithm, "--seed", 7]
    section = json.loads(drift("config", "show", *run, "--json"))["values"]["algorithm.masking"]
    parameters = {key: value["value"] for key, value in section.items()}
    expected = json.loads(
        drift("plan", *run, "--trajectories", file, "--step", 3, "--inner-iteration", 2, "--json", "--responses", 4)
    )
    strategy = drift_rl.masking(parameters.pop("name"), **parameters)
    model = drift_rl.load(source / "assets/sudoku-llada")
    tokens = torch.tensor([record["token_ids"] for record in records])
    length = max(len(record["prompt_ids"]) for record in records)
    prompts = torch.tensor([[model.pad_id] * (length - len(r["prompt_ids"])) + r["prompt_ids"] for r in records])
    plan = strategy.plan(
        tokens,
        torch.tensor([record["steps"] for record in records]),
        valid=valid_of(tokens, model),
        prompts=prompts,
        prompt_mask=prompts != model.pad_id,
        logprobs=torch.tensor([record["commit_logprob"] for record in records]),
        seed=7,
        step=3,
        inner_iteration=2,
        end_id=model.end_ids[0],
        end_ids=model.end_ids,
        pad_id=model.pad_id,
    )
    assert plan.terms == expected["forwards"]
    for response in expected["responses"]:
        views = positions(plan.response_F == response["response"])
        assert len(views) == len(response["views"])
        for f, view in zip(views, response["views"]):
            assert plan.term_F[f] == view["forward"]
            assert positions(plan.masked_FL[f]) == view["masked"]
            assert positions(plan.target_FL[f]) == view["scored"]
            if plan.weight_F is not None:
                assert plan.weight_F[f].item() == pytest.approx(view["weight"])
            if plan.token_weight_FL is not None:
                assert plan.token_weight_FL[f][plan.target_FL[f]].tolist() == pytest.approx(view["token_weights"])


def valid_of(tokens, model):
    """Up to the first end token."""
    ends = torch.isin(tokens, torch.tensor(model.end_ids))
    behind = ends.cumsum(1) - ends.long()
    return (behind == 0) & (tokens != model.pad_id) & (tokens != model.mask_id)


def test_a_response_alone_has_the_views_that_it_has_in_a_batch():
    tokens, steps = torch.arange(24).view(3, 8) + 5, torch.arange(8).expand(3, 8)
    strategy = drift_rl.masking("random_masking")
    together = strategy.plan(tokens, steps, seed=3)
    alone = strategy.plan(tokens[2:], steps[2:], seed=3, response_numbers=[2])
    assert torch.equal(together.masked_FL[together.response_F == 2], alone.masked_FL)


def test_lists_arrays_and_types():
    strategy = drift_rl.masking("rldf", k=2)
    steps = [[0, 1, 2, 3]]
    plan = strategy.plan([[5, 6, 7, 8]], steps, logprobs=[[-1.0, -2.0, -0.5, -0.1]])
    assert plan.masked_FL.shape[1] == 4 and strategy.refresh == "once_per_rollout"
    with pytest.raises(drift_rl.Error, match="`tokens` is of type torch.float32, not torch.int64"):
        strategy.plan([[5.0, 6.0]], [[0, 1]])
    with pytest.raises(drift_rl.Error, match=r"`steps` has the shape \[1, 3\], not \[1, 4\]"):
        strategy.plan([[5, 6, 7, 8]], [[0, 1, 2]])
    with pytest.raises(drift_rl.Error, match="`steps` has a number that torch.int32 cannot hold"):
        strategy.plan([[5, 6]], [[0, 2**32]])
    with pytest.raises(drift_rl.Error, match="`step` is 0 and `inner_iteration` is 1"):
        strategy.plan([[5, 6]], [[0, 1]], step=0)
    with pytest.raises(drift_rl.Error, match="`logprobs` has a NaN"):
        strategy.plan([[5, 6]], [[0, 1]], logprobs=[[-1.0, float("nan")]])
