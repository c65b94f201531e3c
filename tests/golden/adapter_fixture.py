#!/usr/bin/env python3
"""Writes tests/golden/adapters/: adapters that the package peft made and saved, and what it computes with them on the
golden checkpoints: logits, and the gradients of A and B. Needs torch, peft and safetensors.

    python3 tests/golden/adapter_fixture.py                 write the fixtures
    python3 tests/golden/adapter_fixture.py --open CHECKPOINT ADAPTER
                                                            open an adapter that Drift saved in peft, and write its
                                                            logits, adapter_logits.safetensors; then compare:

    drift model verify CHECKPOINT --adapter ADAPTER --reference adapter_logits.safetensors
"""

import json
import pathlib
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

here = pathlib.Path(__file__).parent
checkpoints = here / "data" / "ckpt"

# How the two families call the parts of a layer, and their settings.
FAMILIES = {
    "llada": dict(embedding="model.transformer.wte", blocks="model.transformer.blocks", norm="model.transformer.ln_f",
                  head="model.transformer.ff_out", attention_norm="attn_norm", feed_norm="ff_norm", q="q_proj",
                  k="k_proj", v="v_proj", out="attn_out", gate="ff_proj", up="up_proj", down="ff_out",
                  heads="n_heads", kv_heads="n_kv_heads", hidden="d_model", inner="mlp_hidden_size", layers="n_layers"),
    "Dream": dict(embedding="model.embed_tokens", blocks="model.layers", norm="model.norm", head="lm_head",
                  attention_norm="input_layernorm", feed_norm="post_attention_layernorm", q="self_attn.q_proj",
                  k="self_attn.k_proj", v="self_attn.v_proj", out="self_attn.o_proj", gate="mlp.gate_proj",
                  up="mlp.up_proj", down="mlp.down_proj", heads="num_attention_heads", kv_heads="num_key_value_heads",
                  hidden="hidden_size", inner="intermediate_size", layers="num_hidden_layers"),
}


class Norm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def put(root, path, module):
    """Place a module under a dotted name, as the original has it."""
    *parents, last = path.split(".")
    for part in parents:
        if not hasattr(root, part):
            setattr(root, part, nn.Module())
        root = getattr(root, part)
    setattr(root, last, module)


class Transformer(nn.Module):
    """A bidirectional transformer whose modules are called like the family's. No code of the originals."""

    def __init__(self, config):
        super().__init__()
        names, bias = FAMILIES[config["model_type"]], config["model_type"] == "Dream"
        self.names, self.c = names, config
        width, inner = config[names["hidden"]], config[names["inner"]]
        self.dimension = width // config[names["heads"]]
        kv = config[names["kv_heads"]] * self.dimension
        vocabulary = config.get("embedding_size", config["vocab_size"])
        put(self, names["embedding"], nn.Embedding(vocabulary, width))
        for layer in range(config[names["layers"]]):
            at = f"{names['blocks']}.{layer}."
            for part, shape, has_bias in (("q", (width, width), bias), ("k", (width, kv), bias),
                                          ("v", (width, kv), bias), ("out", (width, width), False),
                                          ("gate", (width, inner), False), ("up", (width, inner), False),
                                          ("down", (inner, width), False)):
                put(self, at + names[part], nn.Linear(*shape, bias=has_bias))
            put(self, at + names["attention_norm"], Norm(width, config["rms_norm_eps"]))
            put(self, at + names["feed_norm"], Norm(width, config["rms_norm_eps"]))
        put(self, names["norm"], Norm(width, config["rms_norm_eps"]))
        put(self, names["head"], nn.Linear(width, vocabulary, bias=False))

    def rotate(self, x):
        length = x.shape[2]
        exponents = torch.arange(0, self.dimension, 2).float() / self.dimension
        angles = torch.outer(torch.arange(length).float(), 1.0 / self.c["rope_theta"] ** exponents)
        cosine, sine = angles.cos(), angles.sin()
        a, b = x.chunk(2, -1)
        return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1)

    def forward(self, ids):
        names, get = self.names, self.get_submodule
        rows, length = ids.shape
        heads = lambda x: x.view(rows, length, -1, self.dimension).transpose(1, 2)
        x = get(names["embedding"])(ids)
        for layer in range(self.c[names["layers"]]):
            part = lambda name: get(f"{names['blocks']}.{layer}.{names[name]}")
            y = part("attention_norm")(x)
            q, k, v = self.rotate(heads(part("q")(y))), self.rotate(heads(part("k")(y))), heads(part("v")(y))
            share = q.shape[1] // k.shape[1]
            y = F.scaled_dot_product_attention(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1))
            x = x + part("out")(y.transpose(1, 2).reshape(rows, length, -1))
            y = part("feed_norm")(x)
            x = x + part("down")(F.silu(part("gate")(y)) * part("up")(y))
        return get(names["head"])(get(names["norm"])(x))


def open_checkpoint(folder):
    model = Transformer(json.loads((folder / "config.json").read_text()))
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model


def ids_of(model):
    vocabulary = model.c["vocab_size"]
    return (torch.arange(2 * 13) * 37 + 11).remainder(min(200, vocabulary)).view(2, 13)


def write(name, checkpoint, settings):
    torch.manual_seed(0)
    base = open_checkpoint(checkpoints / checkpoint)
    with torch.no_grad():
        plain = base(ids_of(base))
    # The packages compare models by name; this one has none.
    model = get_peft_model(base, LoraConfig(bias="none", **settings)).eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if "lora_B" in parameter_name:
                parameter.normal_(0, 0.05)
    folder = here / "adapters" / name
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    ids = ids_of(base)
    logits = model(ids)
    weights = torch.arange(logits.numel()).sin().view_as(logits)
    (logits * weights).sum().backward()
    with torch.no_grad():
        assert (logits - plain).abs().max() > 0.05
    expected = {"input_ids": ids, "logits": logits.detach()[:, ::4].contiguous()}
    for parameter_name, parameter in model.named_parameters():
        if parameter.grad is not None:
            expected["grad." + parameter_name.replace("base_model.model.", "", 1).replace(".default", "")] = parameter.grad
    save_file(expected, folder / "expected.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)


if len(sys.argv) == 4 and sys.argv[1] == "--open":
    base = open_checkpoint(pathlib.Path(sys.argv[2]))
    ids = ids_of(base)
    model = PeftModel.from_pretrained(base, sys.argv[3]).eval()
    with torch.no_grad():
        adapted = model(ids)
        with model.disable_adapter():
            plain = model(ids)
    print(f"peft opened {sys.argv[3]}: {sum(p.numel() for n, p in model.named_parameters() if 'lora_' in n)} parameters")
    print(f"norm of the logits {adapted.norm():.6f}, without the adapter {plain.norm():.6f}")
    save_file({"input_ids": ids, "logits": adapted.contiguous()}, "adapter_logits.safetensors")
else:
    write("llada_all", "llada_a", dict(r=2, lora_alpha=3, target_modules=r".*blocks\.\d+\.(?!.*norm)[a-z_]+"))
    write("dream_some", "dream_a", dict(
        r=3, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj", "down_proj"]))
