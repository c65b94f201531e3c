#!/usr/bin/env python3
"""Writes tests/golden/decode_traces.json: what published decoders write greedily on the golden checkpoints.

The decoders are written here a second time, in numpy and float64, as docs/spec/models_rollout.md 3.1 to 3.5
describe them; neither Drift's code nor the originals' is used. A prompt counts only if every choice of its trace is
clear by a margin that float32 keeps. Needs numpy.

    python3 tests/golden/decode_fixture.py
"""

import json
import math
import pathlib
import struct

import numpy as np

here = pathlib.Path(__file__).parent
MARGIN = 2e-4  # between what is chosen and what is not
PROMPT = 6     # tokens

# The parts of a layer: norms, q, k, v, out, gate, up, down.
LAYERS = {
    "llada": ("model.transformer.blocks.{}.", "attn_norm", "ff_norm", "q_proj", "k_proj", "v_proj", "attn_out", "ff_proj",
              "up_proj", "ff_out"),
    "Dream": ("model.layers.{}.", "input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj",
              "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
}
ENDS = {"llada": ("model.transformer.wte.weight", "model.transformer.ln_f.weight", "model.transformer.ff_out.weight"),
        "Dream": ("model.embed_tokens.weight", "model.norm.weight", "lm_head.weight")}


def read_tensors(folder):
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        data = file.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[8 + size + begin:8 + size + end], np.float32)
            tensors[name] = values.reshape(entry["shape"]).astype(np.float64)
    return tensors


class Unclear(Exception):
    """A choice is too close to call, or the original fails or never ends here."""


class Model:
    """A bidirectional transformer. Keys and values of a forward are kept, so that a later one can attend to them."""

    def __init__(self, name):
        folder = here / "data" / "ckpt" / name
        config = json.loads((folder / "config.json").read_text())
        family = config["model_type"]
        self.tensors = read_tensors(folder)
        self.names, (self.embedding, self.norm, self.head) = LAYERS[family], ENDS[family]
        self.shifted = family == "Dream"
        self.heads = config.get("n_heads") or config["num_attention_heads"]
        self.kv_heads = config.get("n_kv_heads") or config["num_key_value_heads"]
        self.layers = config.get("n_layers") or config["num_hidden_layers"]
        self.theta, self.epsilon = config["rope_theta"], config["rms_norm_eps"]
        self.mask, self.pad = config["mask_token_id"], config["pad_token_id"]
        self.text_ids = min(self.mask, self.pad, config["eos_token_id"])  # those below are words
        self.kept = None

    def rms(self, x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * self.tensors[weight]

    def rotate(self, x, begin):  # [T, heads, width], as float32 computes the angles
        half = x.shape[-1] // 2
        inverse = (1.0 / (self.theta ** (np.arange(half, dtype=np.float32) / np.float32(half)))).astype(np.float32)
        angle = np.outer(np.arange(begin, begin + x.shape[0], dtype=np.float32), inverse)[:, None, :].astype(np.float64)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    def linear(self, x, name):
        bias = self.tensors.get(name + ".bias")
        return x @ self.tensors[name + ".weight"].T + (0 if bias is None else bias)

    def raw(self, ids, begin=0, sees=None):
        """Logits of the tokens at [begin, begin + T). `sees(keys, kept)`: all keys of a layer, from this forward's and
        the kept ones; without it they are this forward's, and are kept."""
        prefix, norm, feed_norm, q, k, v, out, gate, up, down = self.names
        x, kept = self.tensors[self.embedding][ids], []
        for layer in range(self.layers):
            at = prefix.format(layer)
            h = self.rms(x, at + norm + ".weight")
            queries = self.rotate(self.linear(h, at + q).reshape(len(ids), self.heads, -1), begin)
            keys = self.rotate(self.linear(h, at + k).reshape(len(ids), self.kv_heads, -1), begin)
            values = self.linear(h, at + v).reshape(len(ids), self.kv_heads, -1)
            if sees is None:
                kept.append((keys, values))
            else:
                keys, values = (sees(new, old) for new, old in zip((keys, values), self.kept[layer]))
            keys, values = (np.repeat(one, self.heads // self.kv_heads, 1) for one in (keys, values))
            score = np.einsum("qhd,khd->hqk", queries, keys) / math.sqrt(queries.shape[-1])
            weight = np.exp(score - score.max(-1, keepdims=True))
            weight /= weight.sum(-1, keepdims=True)
            x = x + self.linear(np.einsum("hqk,khd->qhd", weight, values).reshape(len(ids), -1), at + out)
            h = self.rms(x, at + feed_norm + ".weight")
            g = self.linear(h, at + gate)
            x = x + self.linear(g / (1 + np.exp(-g)) * self.linear(h, at + up), at + down)
        if sees is None:
            self.kept = kept
        return self.rms(x, self.norm) @ self.tensors[self.head].T

    def logits(self, *arguments):
        """A row for each token; of a shifted model that of the token before, of the first its own."""
        rows = self.raw(*arguments)
        return np.concatenate([rows[:1], rows[:-1]]) if self.shifted else rows


def probabilities(logits):
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def likeliest(logits):
    top = np.partition(logits, -2, -1)[..., -2:]
    if (top[..., 1] - top[..., 0]).min(initial=np.inf) < 5 * MARGIN:
        raise Unclear
    return logits.argmax(-1)


def surest(scores, count):
    """The indices of the `count` largest."""
    order = np.argsort(-scores, kind="stable")
    if 0 < count < len(scores) and scores[order[count - 1]] - scores[order[count]] < MARGIN:
        raise Unclear
    return order[:count]


def linear_plan(masked, steps):
    return [masked // steps + (i < masked % steps) for i in range(steps)]


def share(steps, i):
    """1 - t(i + 1) / t(i), times falling evenly from 1 to 0.001, in float32."""
    t = np.linspace(1, 1e-3, steps + 1).astype(np.float32)
    return np.float32(1) - t[i + 1] / t[i]


class Trace:
    """The sequence while it is written, and what becomes of it."""

    def __init__(self, model, prompt, length):
        self.model, self.prompt = model, len(prompt)
        self.x = np.array(prompt + [model.mask] * length)
        self.step, self.probability, self.forwards = [-1] * length, [0.0] * length, 0

    def masked(self, begin, end):
        return [j for j in range(begin, end) if self.x[j] == self.model.mask]

    def commit(self, position, token, probability):
        """A mask token leaves the position as it is."""
        self.x[position] = token
        if token != self.model.mask:
            self.step[position - self.prompt] = self.forwards - 1
            self.probability[position - self.prompt] = float(probability)

    def full(self):
        self.forwards += 1
        return self.model.logits(self.x)

    def window(self, begin, end, behind=False):
        """Of [begin, end) alone: what is before is kept, what is behind likewise, or is not seen."""
        self.forwards += 1
        if self.forwards > 4 * len(self.x):
            raise Unclear
        return self.model.logits(self.x[begin:end], begin, lambda new, old: np.concatenate(
            [old[:begin], new] + ([old[end:]] if behind else [])))


def commit_by_score(trace, positions, scores, tokens, probability, count, threshold):
    if threshold is None:
        chosen = surest(scores, count)
    else:
        if len(scores) and np.abs(scores - threshold).min() < MARGIN:
            raise Unclear
        chosen = [j for j in range(len(scores)) if scores[j] >= threshold] or list(surest(scores, min(1, len(scores))))
    for j in chosen:
        trace.commit(positions[j], tokens[j], probability[j])


def llada(model, prompt, steps, gen_length, block_length, **_):
    """3.1: what an earlier block left masked may still be committed."""
    trace = Trace(model, prompt, gen_length)
    blocks = gen_length // block_length
    for block in range(blocks):
        for count in linear_plan(block_length, steps // blocks):
            logits = trace.full()
            positions = trace.masked(len(prompt), len(prompt) + (block + 1) * block_length)
            tokens, p = likeliest(logits[positions]), probabilities(logits[positions])
            chosen = p[range(len(tokens)), tokens]
            commit_by_score(trace, positions, chosen, tokens, chosen, count, None)
    return trace


def dream(model, prompt, steps, gen_length, alg, **_):
    """3.3."""
    trace = Trace(model, prompt, gen_length)
    for i in range(steps):
        logits = trace.full()
        positions = trace.masked(len(prompt), len(trace.x))
        tokens, p = likeliest(logits[positions]), probabilities(logits[positions])
        chosen, top = p[range(len(tokens)), tokens], np.sort(p, -1)[:, -2:]
        scores = {"maskgit_plus": chosen, "topk_margin": top[:, 1] - top[:, 0],
                  "entropy": (p * np.log(p + 1e-10)).sum(-1)}[alg]
        count = int(np.float32(len(positions)) * share(steps, i)) if i < steps - 1 else len(positions)
        commit_by_score(trace, positions, scores, tokens, chosen, count, None)
    return trace


def rldf_llada(model, prompt, steps, gen_length, block_length, threshold, further_horizon, target="confidence", **_):
    """3.2 with a cache."""
    trace = Trace(model, prompt, gen_length)
    blocks, end_of_all = gen_length // block_length, len(prompt) + gen_length
    for block in range(blocks):
        s, e = len(prompt) + block * block_length, len(prompt) + (block + 1) * block_length
        window_end = end_of_all if further_horizon is None else min(e + further_horizon, end_of_all)
        plan = linear_plan(block_length, steps // blocks + (block < steps % blocks))
        i = 0
        while True:
            if i == len(plan):
                raise Unclear  # the original fails
            logits = trace.full()[s:e] if i == 0 else trace.window(s, window_end)[:block_length]
            positions = trace.masked(s, e)
            logits = logits[[j - s for j in positions]]
            tokens, p = likeliest(logits), probabilities(logits)
            chosen = p[range(len(tokens)), tokens]
            top = np.sort(p, -1)[:, -2:]
            scores = {"confidence": chosen, "margin_confidence": top[:, 1] - top[:, 0],
                      "neg_entropy": -(p * np.log(p + 1e-10)).sum(-1)}[target]
            commit_by_score(trace, positions, scores, tokens, chosen, plan[i], threshold)
            if i > 0 and not trace.masked(s, e):
                break
            i += 1
    return trace


def dream_blocks(model, prompt, steps, gen_length, block_length, threshold, end_of_window, behind, entropy, any_id):
    """3.4 and 3.5: the first forward of a block commits its first position alone, the others see a part."""
    trace = Trace(model, prompt, gen_length)
    blocks = gen_length // block_length

    def drawn(logits):
        allowed = logits.copy()
        if not any_id:
            allowed[:, model.mask:] = -np.inf
        tokens = likeliest(allowed)
        return tokens, probabilities(allowed), probabilities(logits)[range(len(tokens)), tokens]

    for block in range(blocks):
        s, e = len(prompt) + block * block_length, len(prompt) + (block + 1) * block_length
        own_steps = steps // blocks + (block < steps % blocks)
        tokens, _, recorded = drawn(trace.full()[s:s + 1])
        trace.commit(s, tokens[0], recorded[0])
        i = 1
        while True:
            logits = trace.window(s, end_of_window(e), behind)[:block_length]
            if threshold is None and i == own_steps:
                break  # and what is masked stays masked
            positions = trace.masked(s, e)
            tokens, p, recorded = drawn(logits[[j - s for j in positions]])
            scores = (p * np.log(p + 1e-10)).sum(-1) if entropy else p[range(len(tokens)), tokens]
            count = len(positions)
            if threshold is None and i < own_steps - 1:
                count = int(np.float32(count) * share(own_steps, i))
            commit_by_score(trace, positions, scores, tokens, recorded, count, threshold)
            i += 1
            if not trace.masked(s, e):
                break
    return trace


def rldf_dream(model, prompt, steps, gen_length, block_length, threshold, further_horizon, **_):
    last = len(prompt) + gen_length
    horizon = gen_length if further_horizon is None else further_horizon
    return dream_blocks(model, prompt, steps, gen_length, block_length, threshold, lambda e: min(e + horizon, last),
                        False, False, False)


def fast_dream(model, prompt, steps, gen_length, block_length, threshold, alg, cache, **_):
    last, dual, dynamic = len(prompt) + gen_length, cache == "dual", alg == "confidence_threshold"
    return dream_blocks(model, prompt, steps, gen_length, block_length, threshold if dynamic else None,
                        lambda e: e if dual else last, dual, not dynamic, True)


DECODERS = {"llada_generate": ("llada_a", llada), "dream_generate": ("dream_a", dream),
            "drift_llada": ("llada_a", rldf_llada), "drift_dream": ("dream_a", rldf_dream),
            "fast_dream_block": ("dream_a", fast_dream)}


def wanted():
    """Every horizon around 0, the block and the length; every alg, cache and schedule; and tokens that are masks."""
    shape = dict(gen_length=24, block_length=8, temperature=0.0)
    for name in ("drift_llada", "drift_dream"):
        for horizon in (0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, None):
            for threshold in (None, 0.6):
                yield name, dict(shape, use_cache=True, further_horizon=horizon, threshold=threshold,
                                 steps=12 if threshold is None else 24), False
    for target in ("margin_confidence", "neg_entropy"):
        yield "drift_llada", dict(shape, use_cache=True, further_horizon=0, threshold=None, steps=12, target=target), False
    for cache in ("prefix", "dual"):
        for alg in ("origin", "maskgit_plus", "topk_margin", "entropy"):
            for steps in (3, 6, 12, 24, 36):  # 1, 2, 4, 8 and 12 a block of 8
                yield "fast_dream_block", dict(shape, cache=cache, alg=alg, steps=steps, threshold=0.9), False
        for threshold in (0.2, 0.6, 0.9):
            yield "fast_dream_block", dict(shape, cache=cache, alg="confidence_threshold", steps=3, threshold=threshold), False
        for steps in (6, 12, 24):
            yield "fast_dream_block", dict(shape, cache=cache, alg="entropy", steps=steps, threshold=0.9), True
    for steps in (6, 12, 24, 36):
        yield "llada_generate", dict(shape, steps=steps), True
    for alg in ("maskgit_plus", "topk_margin", "entropy"):
        yield "dream_generate", dict(gen_length=24, temperature=0.0, alg=alg, steps=12), True


def left_masked(trace):
    """Positions that are masks though their block had forwards enough for all of them."""
    return any(step < 0 for step in trace.step)


def main():
    models = {name: Model(name) for name, _ in DECODERS.values()}
    cases = []
    for number, (algorithm, settings, masks) in enumerate(wanted()):
        checkpoint, decode = DECODERS[algorithm]
        model, seed = models[checkpoint], 1000 * number
        while True:
            prompt = np.random.default_rng(seed).integers(0, model.text_ids, PROMPT).tolist()
            seed += 1
            try:
                trace = decode(model, prompt, **settings)
            except Unclear:
                continue
            if not masks or left_masked(trace):
                break
        words = [str(settings.get(key)) for key in ("cache", "alg", "target", "further_horizon", "threshold", "steps")
                 if key in settings]
        cases.append(dict(id=f"{algorithm}_{number}_{'_'.join(words)}{'_masks' if masks else ''}", checkpoint=checkpoint,
                          algorithm=algorithm, settings=dict(settings, mask_id=model.mask, pad_id=model.pad),
                          nfe=trace.forwards, prompt=prompt, tokens=trace.x[len(prompt):].tolist(),
                          commit_step=trace.step, commit_prob=[round(p, 6) for p in trace.probability]))
        print(cases[-1]["id"], seed - 1000 * number)
    lines = ",\n".join(json.dumps(case) for case in cases)
    (here / "decode_traces.json").write_text('{"cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
