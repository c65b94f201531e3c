"""What tests/frozen/compare compares of two runs: the values in their files, and the first that differs."""

import csv
import hashlib
import json
import re
from pathlib import Path

# What has another name in the present tree than in BASE: where -> {name in BASE: name now}. Where is "settings" (keys
# of the configuration) or the name of a file. A name stands also for all that begins with it and a point. None: it is
# not compared.
#   RENAMED = {"settings": {"train.views_per_update": "train.views_per_pass"},
#              "metrics.jsonl": {"rollout_gap": None, "seconds": "time"}}
# BASE has no such settings.
NEW = ["rollout.block_steps", "rollout.above_threshold", "rollout.append", "rollout.small_block",
       "rollout.small_block_cache", "rollout.stop_ids", "rollout.stop_at_once", "model.mask_id", "model.description",
       "prompt.enable_thinking", "pretrain.noise", "pretrain.maximum_mask_ratio", "pretrain.mask_prompts",
       "pretrain.packed_length", "algorithm.masking.blocks_from", "train.keep_best", "pretrain.keep_best"]
RENAMED = {"settings": {name: None for name in NEW}}

# A key with one of these words is a time, a memory, a path or a version, or a checksum of such values.
NOT_COMPARED = re.compile(r"(^|[./ _])(seconds|tokens_per_second|rank_idle\w*|peak_memory_mib|files|checksum|folder|"
                          r"drift|base_model_name_or_path)($|[./ _])")


def renamed(where, values):
    """The values of BASE under the names that they have now."""
    names = dict(RENAMED.get(where, {}))
    if where == "training_state.json":
        names |= {f"settings.{old}": new and f"settings.{new}" for old, new in RENAMED.get("settings", {}).items()}
    result = {}
    for key, value in values.items():
        line, name = re.fullmatch(r"(line \d+: )?(.*)", key).groups("")
        old = next((old for old in names if name == old or name.startswith(old + ".")), None)
        if old is None:
            result[key] = value
        elif names[old] is not None:
            result[line + names[old] + name[len(old):]] = value
    return result


def leaves(value, name=""):
    """The single values of a JSON value, by their names."""
    if isinstance(value, dict):
        children = {f"{name}.{key}" if name else key: child for key, child in value.items()}
    elif isinstance(value, list):
        children = {f"{name}[{index}]": child for index, child in enumerate(value)}
    else:
        return {name: json.dumps(value)}
    return {key: leaf for child, inner in children.items() for key, leaf in leaves(inner, child).items()}


def tensors(data):
    """Of a safetensors file: type, shape and SHA-256 of each tensor."""
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    values = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        digest = hashlib.sha256(data[begin + first:begin + last]).hexdigest()
        values[name] = f"{entry['dtype']} {entry['shape']} {digest}"
    return values


def values_of(path):
    """Name -> value, as text, of all that the file holds and that is compared."""
    data = path.read_bytes()
    if path.suffix == ".safetensors":
        return tensors(data)
    if path.suffix == ".json":
        lines = {"": json.loads(data)}
    elif path.suffix == ".jsonl":
        lines = {f"line {number}: ": json.loads(line) for number, line in enumerate(data.splitlines(), 1)}
    elif path.suffix == ".csv":
        lines = {f"line {number}: ": row for number, row in enumerate(csv.DictReader(data.decode().splitlines()), 2)}
    else:
        return {"bytes": hashlib.sha256(data).hexdigest()}
    return {line + name: value for line, content in lines.items() for name, value in leaves(content).items()
            if not NOT_COMPARED.search(name)}


def results_of(run):
    """File -> its values: metrics, tables, responses, and all files of checkpoints except their cards. Of a sweep the
    tables alone: folders of its runs are named by a checksum of all settings."""
    patterns = ("metrics.jsonl", "*.csv", "responses/*.jsonl", "checkpoints/step-*/*")
    files = sorted(path for pattern in patterns for path in run.glob(pattern) if path.name != "README.md")
    return {str(path.relative_to(run)): values_of(path) for path in files}


def first_difference(base, now):
    """Empty if the results are the same."""
    for file in sorted(base.keys() | now.keys(), key=lambda file: (not file.endswith("metrics.jsonl"), file)):
        if file not in base or file not in now:
            return f"{file} is only in {'BASE' if file in base else 'the present tree'}"
        where = Path(file).name
        old = renamed(where, base[file])
        new = {name: value for name, value in now[file].items() if renamed(where, {name: value})}
        for name in [*old, *(name for name in new if name not in old)]:
            if old.get(name) != new.get(name):
                return f"{file}, {name}"
    return ""


def has_gradient(results):
    """Whether a step had one; true of results without steps."""
    norms = [value for values in results.values() for name, value in values.items() if name.endswith(": grad_norm")]
    return not norms or any(norm != "null" and float(norm) > 0 for norm in norms)
