"""load() and rollout(): what the program writes and scores, in this process."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import types

import drift_rl
import pytest
import torch
from drift_rl import _core

PROMPT = "<|startoftext|>0040\n4301\n0004\n1400<|sep|>"


@pytest.fixture(scope="module")
def model(source):
    return drift_rl.load(source / "assets/sudoku-llada")


SETTINGS = {"rollout": "block", "length": 20, "block": 20, "steps": 8, "temperature": 0.8}


@pytest.fixture(scope="module")
def program_writes(drift, json_lines, source):
    def write(folder, settings, *options):
        sets = [part for key, value in settings.items() for part in ("--set", f"rollout.{key}={value}")]
        return json_lines(drift("generate", source / folder, "--prompt", PROMPT, "--json", *sets, *options))

    return write


@pytest.mark.parametrize("folder", ["assets/sudoku-llada", "assets/sudoku-dream", "assets/sudoku-sdar"])
def test_writes_what_the_program_writes(folder, source, program_writes):
    own = drift_rl.load(source / folder)
    settings = {"length": 20, "temperature": 0.8, "block": own.block_size or 20, "steps": 0 if own.block_size else 8}
    expected = program_writes(folder, {"name": "block", **settings}, "--samples", 3, "--seed", 5)
    made = own.generate(PROMPT, rollout="block", seed=5, samples=3, raw=False, **settings)
    for b, record in enumerate(expected):
        assert made.tokens_BL[b].tolist() == record["token_ids"]
        assert made.step_BL[b].tolist() == record["steps"]
        assert made.commit_logprob_BL[b].tolist() == pytest.approx(record["commit_logprob"], abs=1e-7)
        assert made.texts[b] == record["text"] and int(made.forwards_B[b]) == record["forwards"]
    assert "<span" in made._repr_html_()
    ids = own.tokenizer.encode(PROMPT)
    for prompts in ([ids, ids], torch.tensor([ids, ids])):
        again = own.generate(prompts, rollout="block", seed=5, first=2, **settings)
        assert torch.equal(again.tokens_BL, made.tokens_BL[1:])


@pytest.mark.parametrize("folder", ["assets/sudoku-llada", "assets/sudoku-dream"])
def test_decoders_on_a_function_write_what_they_write_on_the_model(folder, source):
    own = drift_rl.load(source / folder)
    prompts = [own.tokenizer.encode(PROMPT), own.tokenizer.encode(PROMPT)[3:]]
    expected = own.generate(prompts, **SETTINGS, seed=3, samples=2)
    made = drift_rl.rollout(
        own.logits,
        prompts,
        mask_id=own.mask_id,
        vocabulary_size=own.vocabulary_size,
        pad_id=own.pad_id,
        end_id=own.end_ids[0],
        samples=2,
        seed=3,
        **{key: value for key, value in SETTINGS.items() if key != "rollout"},
    )
    assert torch.equal(made.tokens_BL, expected.tokens_BL) and torch.equal(made.step_BL, expected.step_BL)
    assert torch.equal(made.forwards_B, expected.forwards_B)
    assert torch.allclose(made.confidences, expected.confidences, atol=1e-6)


def test_logprobs_are_those_of_the_logits(model):
    tokens = torch.tensor([model.tokenizer.encode(PROMPT)] * 2)
    masked = torch.zeros_like(tokens, dtype=torch.bool)
    masked[0, 5:9] = masked[1, 3] = True
    seen = tokens.masked_fill(masked, model.mask_id)
    expected = model.logits(seen).log_softmax(-1).gather(2, tokens.unsqueeze(2)).squeeze(2)
    found = model.logprobs(tokens, masked)
    assert torch.allclose(found[masked], expected[masked], atol=1e-5)
    assert not found[~masked].any()


def test_a_function_of_ones_own_is_decoded():
    """Any function of tokens will do: this one knows the answer."""
    answer = torch.tensor([7, 5, 9, 8])

    def forward(tokens):
        logits = torch.zeros(*tokens.shape, 12)
        logits[:, -4:].scatter_(2, answer.view(1, 4, 1).expand(len(tokens), 4, 1), 9.0)
        return logits

    settings = {"length": 4, "steps": 4, "block": 4, "schedule": "static"}
    made = drift_rl.rollout(forward, [[1, 2]], mask_id=11, vocabulary_size=12, **settings)
    assert made.tokens_BL.tolist() == [answer.tolist()] and sorted(made.step_BL[0].tolist()) == [0, 1, 2, 3]


def test_a_module_of_torch_is_decoded_with_the_draws_of_a_step():
    class Uniform(torch.nn.Module):
        def forward(self, tokens):
            return torch.zeros(*tokens.shape, 12)

    settings = {"mask_id": 11, "vocabulary_size": 12, "length": 8, "block": 8, "samples": 4}
    first, again, second, none = (
        drift_rl.rollout(Uniform(), [[1]], step=step, **settings).tokens_BL for step in (1, 1, 2, 0)
    )
    assert torch.equal(first, again) and not torch.equal(first, second) and not torch.equal(first, none)


def test_the_mask_is_for_those_who_name_it():
    """A second parameter of another name and with a default is no mask, and *arguments are none."""
    uniform = lambda tokens: torch.zeros(*tokens.shape, 12)
    settings = {"mask_id": 11, "vocabulary_size": 12, "length": 4, "steps": 4, "block": 4}
    expected = drift_rl.rollout(uniform, [[1, 2]], **settings).tokens_BL
    for forward in (
        lambda tokens, scale=1.0: scale * uniform(tokens),
        lambda *tokens, **others: uniform(*tokens, **others),
        lambda tokens, scale=1.0, mask=False: scale * uniform(tokens) if mask is None else None,
        lambda tokens, padding: uniform(tokens) if padding is None else None,
    ):
        assert torch.equal(drift_rl.rollout(forward, torch.tensor([[1, 2]]), **settings).tokens_BL, expected)


def test_what_a_function_raises_is_raised():
    def forward(tokens):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        drift_rl.rollout(forward, [[1]], mask_id=3, vocabulary_size=4, length=4, steps=4, block=4)
    with pytest.raises(drift_rl.Error, match=r"not logits \[1, 5, 4\]"):
        drift_rl.rollout(lambda tokens: tokens, [[1]], mask_id=3, vocabulary_size=4, length=4, steps=4, block=4)
    output = types.SimpleNamespace(logits=torch.zeros(1, 5, 4))
    with pytest.raises(drift_rl.Error, match=r"must return logits, a tensor \[B, S, V\], .*\n  = return its .logits"):
        drift_rl.rollout(lambda tokens: output, [[1]], mask_id=3, vocabulary_size=4, length=4, steps=4, block=4)
    with pytest.raises(drift_rl.Error, match="takes no mask"):
        drift_rl.rollout(lambda tokens: tokens, [[1], [1, 2]], mask_id=3, vocabulary_size=4, length=4, steps=4, block=4)


def test_mistakes_are_errors_with_hints(model, source):
    with pytest.raises(drift_rl.Error, match="there is no checkpoint folder") as raised:
        drift_rl.load(source / "assets/none")
    assert raised.value.hint
    with pytest.raises(drift_rl.Error, match="say how to decode"):
        model.generate(PROMPT)
    with pytest.raises(drift_rl.Error, match="^unknown parameter `lenght`") as raised:
        model.generate(PROMPT, **SETTINGS, lenght=3)
    assert raised.value.hint.startswith("parameters of `block`: length")
    with pytest.raises(drift_rl.Error, match="not int64"):
        model.logits(torch.zeros(1, 4))
    with pytest.raises(drift_rl.Error, match="outside the vocabulary"):
        model.logits(torch.full((1, 4), 10**6))
    with pytest.raises(drift_rl.Error, match="there is no prompt"):
        model.generate([])


def test_two_threads(model, source):
    made = {}

    def write(seed):
        own = drift_rl.load(source / "assets/sudoku-llada")
        made[seed] = own.generate(PROMPT, **SETTINGS, seed=seed, samples=2).tokens_BL

    threads = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (1, 2):
        assert torch.equal(made[seed], model.generate(PROMPT, **SETTINGS, seed=seed, samples=2).tokens_BL)


def test_threads_take_turns_at_one_checkpoint(model):
    made = {}

    def write(length):
        for _ in range(10):
            made[length] = model.generate(PROMPT, **{**SETTINGS, "length": length, "block": length}).tokens_BL

    threads = [threading.Thread(target=write, args=(length,)) for length in (8, 12, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {length: tokens.shape[1] for length, tokens in made.items()} == {8: 8, 12: 12, 16: 16}


def resident_kilobytes():
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def test_a_thousand_calls_keep_memory(model):
    tokens = torch.randint(5, 20, (4, 64))
    masked = torch.rand(4, 64) < 0.5
    hidden, head = torch.randn(64, 32, requires_grad=True), torch.randn(500, 32, requires_grad=True)
    targets = torch.randint(0, 500, (64,))
    strategy, loss = drift_rl.masking("rldf", k=4), drift_rl.loss("rldf", beta=0.0)

    def once():
        model.logprobs(tokens, masked)
        drift_rl.linear_log_softmax(hidden, head, targets).sum().backward()
        plan = strategy.plan(tokens, torch.arange(64).expand(4, 64), logprobs=torch.zeros(4, 64))
        current = torch.full(plan.masked_FL.shape, -1.0, requires_grad=True)
        loss(current, torch.ones(4), plan, group_size=4).backward()

    for _ in range(100):
        once()
    gc.collect()
    before = resident_kilobytes()
    for _ in range(1000):
        once()
    gc.collect()
    assert resident_kilobytes() - before < 4096


def test_an_interrupt_ends_a_rollout():
    """Ctrl-C while a function is at work: the rollout ends, and the next one is as ever."""
    program = """
import os, signal, sys, threading, torch, drift_rl
def forward(tokens):
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    calls.append(1)
    return torch.zeros(*tokens.shape, 6)
calls = []
settings = dict(mask_id=5, vocabulary_size=6, length=4096, steps=4096, block=4096, schedule="static")
try:
    drift_rl.rollout(forward, [[1]], **settings)
except KeyboardInterrupt:
    made = drift_rl.rollout(forward, [[1]], **{**settings, "length": 4, "steps": 4, "block": 4})
    print("interrupted after", len(calls) < 4000, made.tokens_BL.shape[1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted after True 4\n", done.stderr


def test_an_interrupt_waits_only_for_what_can_be_cancelled(monkeypatch):
    """Work without `cancel` goes on; other work is cancelled until it ends: it may not listen from its beginning."""
    end, asked = threading.Event(), []
    cancel = lambda: asked.append(1) or len(asked) == 3 and end.set()

    def work(name):
        os.kill(os.getpid(), signal.SIGINT)
        end.wait(60)

    monkeypatch.setattr(_core, "call", work)
    with pytest.raises(KeyboardInterrupt):
        _core.interruptible("without cancel")
    assert not end.is_set()
    with pytest.raises(KeyboardInterrupt):
        _core.interruptible("with it", cancel=cancel)
    assert len(asked) == 3


TRACES = ["llada_gen_pure_b1", "llada_gen_semi_b1", "fast_llada_none_fixed", "fast_llada_none_thr"]
TRACES += ["fast_llada_none_factor1", "drift_llada_static_nocache_b1", "drift_llada_dyn_nocache_b1"]
TRACES += ["drift_dream_static_nocache_b1", "drift_dream_dyn_nocache_b1"]


def tensors_in(file):
    """Of a safetensors file: 8 bytes of length, a header of JSON, then the numbers."""
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    types = {"I64": torch.int64, "F32": torch.float32}
    tensors = {}
    for name, entry in json.loads(data[8:end]).items():
        first, last = (end + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(data[first:last]), dtype=types[entry["dtype"]]).view(entry["shape"])
    return tensors


@pytest.mark.parametrize("trace", TRACES)
def test_a_function_is_decoded_as_the_originals_decode(trace, source, drift):
    tomllib = pytest.importorskip("tomllib")
    data = source / "tests/golden/data"
    case = next(
        c
        for c in json.loads((data / "manifest.json").read_text())["cases"]
        if c["file"].endswith(f"/{trace}.safetensors")
    )
    checkpoint = data / "ckpt" / case["checkpoint"]
    original = re.match("drift_llada|drift_dream|fast_llada|llada_gen", trace)[0].replace("llada_gen", "llada_generate")
    options = [
        "--original",
        original,
        "--settings",
        data / "manifest.json",
        "--reference",
        data / case["file"],
        "--json",
    ]
    verified = json.loads(drift("rollout", "verify", checkpoint, *options))
    settings = tomllib.loads(verified["rollout"])["rollout"]
    reference, own = tensors_in(data / case["file"]), drift_rl.load(checkpoint)
    made = drift_rl.rollout(
        own.logits,
        reference["prompt_ids"].tolist(),
        mask_id=own.mask_id,
        vocabulary_size=own.vocabulary_size,
        pad_id=own.pad_id,
        end_id=own.end_ids[0],
        forbidden_ids=own.forbidden_ids,
        **settings,
    )
    length = made.tokens_BL.shape[1]
    assert torch.equal(made.tokens_BL, reference["tokens"][:, -length:])
    assert torch.equal(made.step_BL.long(), reference["commit_step"][:, -length:])
    assert made.forwards_B.tolist() == [row["forwards"] for row in verified["rows"]]
