"""The stages of bench/gpu. Each is given a Machine, and returns a table (its first row names the columns) and what went wrong."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

PHASES = ("rollout", "old", "reference", "update", "total")


def side_by_side(workers, calls):
    """@param calls  functions. @return what they return, in their order"""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")] if path.exists() else []


def settings(*words):
    return [part for word in words for part in ("--set", word)]


# --- tests

def tests(machine):
    shards = min(8, max(1, os.cpu_count() // 2))
    program = machine.build / "tests/gpu_tests"

    def shard(number):
        report = machine.out / f"tests.{number}.json"
        report.unlink(missing_ok=True)
        wrong = machine.run(f"tests.{number}", [program, f"--gtest_output=json:{report}"], 150, GTEST_TOTAL_SHARDS=str(shards),
                            GTEST_SHARD_INDEX=str(number))
        return wrong, json.loads(report.read_text()) if report.exists() else {"testsuites": []}

    def quickstart(name, device):
        folder = machine.work / name
        return machine.run(name, [
            machine.build / "bin/drift", "train", machine.root / "configs/quickstart.toml", "--device", device, "--out", folder, "--overwrite",
            *settings(f"train.steps={1 if machine.rehearse else 6}", "evaluation.before=false", "evaluation.every=0", "train.checkpoint_every=0")], 100)

    calls = [lambda: machine.run("doctor", [machine.build / "bin/drift", "doctor"], 60)]
    calls += [lambda: quickstart("quickstart.here", "cpu"), lambda: quickstart("quickstart.there", machine.device)]
    calls += [lambda number=number: shard(number) for number in range(shards)]
    doctor, *runs = side_by_side(shards + 3, calls)
    problems = [wrong for wrong in (doctor, *runs[:2], *(wrong for wrong, _ in runs[2:])) if wrong]
    rows, results = [("test", "passed", "skipped", "failed")], {}
    for _, report in runs[2:]:
        for suite in report["testsuites"]:
            count = results.setdefault(suite["name"], [0, 0, 0])
            for test in suite["testsuite"]:
                if test["status"] != "RUN" or test.get("result") == "SUPPRESSED":
                    continue
                outcome = 2 if "failures" in test else 1 if test.get("result") == "SKIPPED" else 0
                count[outcome] += 1
                if outcome == 2:
                    problems.append(f"{suite['name']}.{test['name']} failed")
    rows += [(name, *count) for name, count in sorted(results.items())]
    if not results:
        problems.append("no test ran")
    if machine.device == "cuda" and not machine.rehearse and any(count[1] for count in results.values()):
        problems.append("tests were skipped, on a GPU: their logs say why")
    largest = 0.0
    both = [json_lines(machine.work / f"quickstart.{where}/metrics.jsonl") for where in ("here", "there")]
    for one, other in zip(*both):
        largest = max([largest, *(abs(one[key] - other[key]) for key in ("reward", "loss", "grad_norm"))])
    close = largest <= 1e-5 and len(both[0]) == len(both[1]) > 0
    rows.append((f"quickstart, largest difference of the CPU's metrics {largest:.1e}", *((1, 0, 0) if close else (0, 0, 1))))
    if not close:
        problems.append(f"six steps of the quickstart differ by {largest:.1e} from the CPU's, or did not run")
    return rows, problems


# --- sanitizers

def sanitizers(machine):
    rows = [("tool", "tests", "clean", "not clean")]
    if not shutil.which("compute-sanitizer"):
        return rows + [("SKIPPED: there is no compute-sanitizer", 0, 0, 0)], []
    program = machine.build / "tests/gpu_tests"
    listed = subprocess.run([program, "--gtest_list_tests"], env=machine.environment, capture_output=True, text=True).stdout.splitlines()
    begin = listed.index("KernelsOnTheGpu.") + 1
    names = []
    while begin + len(names) < len(listed) and listed[begin + len(names)].startswith("  "):
        names.append(listed[begin + len(names)].strip())
    # initcheck must see who writes; memcheck is fast.
    own = ["--kernel-name", "kernel_substring=drift"]
    tools = {"racecheck": own, "initcheck": [], "synccheck": own, "memcheck": []}

    def piece(tool, name):
        return machine.run(f"{tool}.{name}", ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *tools[tool], program,
                                              f"--gtest_filter=KernelsOnTheGpu.{name}"], 58)

    pieces = [(tool, name) for tool in tools for name in names]
    wrong = side_by_side(6, [lambda piece_of=one: piece(*piece_of) for one in pieces])
    for tool in tools:
        clean = sum(1 for (of, _), problem in zip(pieces, wrong) if of == tool and not problem)
        rows.append((tool, len(names), clean, len(names) - clean))
    return rows, [problem for problem in wrong if problem]


# --- ceilings

def measured_ceilings(machine, *options):
    wrong = machine.run("ceilings", [sys.executable, machine.root / "bench/gpu_ceilings.py", *options], 100)
    return json_lines(machine.out / "ceilings.log"), [wrong] if wrong else []


def ceilings(machine):
    found, problems = ([], []) if machine.rehearse else measured_ceilings(machine)
    rows = [("name", "value", "unit")] + [(one["name"], one["value"], one["unit"]) for one in found]
    return rows + ([] if found or problems else [("SKIPPED in a rehearsal", None, "")]), problems


def product_rate(machine):
    """Of an update's products, in operations a second; None in a rehearsal."""
    path = machine.out / "ceilings.json"
    if machine.rehearse:
        return None
    found = json.loads(path.read_text())["results"] if path.exists() else measured_ceilings(machine, "--rate")[0]
    rates = [one["value"] for one in found if one["name"].startswith("product 1280 x ")]
    return rates[0] * 1e12 if rates else None


# --- random checkpoints

def shape(machine):
    config = json.loads((machine.root / "assets/shapes" / ("57m" if machine.rehearse else "llada-8b") / "config.json").read_text())
    return config | (dict(d_model=64, n_heads=4, n_kv_heads=4, mlp_hidden_size=192) if machine.rehearse else {})


def few_layers(machine):
    """The folder of random weights in LLaDA-8B's shape with 4 of its layers, made once. Of 256 random tokens the texts are long, and a
    reward that counts characters would be 0 for each: groups of equal rewards train nothing. So ids from 8,000 on have no text."""
    folder, partial, description = (machine.work / f"few-layers{ending}" for ending in ("", ".partial", ".shape"))
    if folder.exists():
        return folder
    description.mkdir(exist_ok=True)
    (description / "config.json").write_text(json.dumps(shape(machine) | dict(n_layers=2 if machine.rehearse else 4)))
    shutil.rmtree(partial, ignore_errors=True)
    wrong = machine.run("random_weights", [machine.build / "bin/drift", "model", "random", description, "--out", partial], 100)
    if wrong:
        sys.exit(wrong)
    tokenizer = json.loads((partial / "tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    silent = [id for id in words.values() if id >= 8000]
    tokenizer["model"]["vocab"] = {word: id for word, id in words.items() if id < 8000}
    plain = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    tokenizer["added_tokens"] += [dict(id=id, content=f"<|silent_{id}|>", **plain) for id in silent]
    tokenizer["added_tokens"].sort(key=lambda token: token["id"])
    (partial / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    partial.rename(folder)
    return folder


def all_layers(machine):
    """The same with all layers, which are those few again and again: to draw them all would take a minute."""
    few, folder, partial = few_layers(machine), machine.work / "all-layers", machine.work / "all-layers.partial"
    if folder.exists():
        return folder
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(few, partial, ignore=shutil.ignore_patterns("*.safetensors"))
    (partial / "config.json").write_text(json.dumps(json.loads((few / "config.json").read_text()) | dict(n_layers=shape(machine)["n_layers"])))
    drawn = json.loads((few / "config.json").read_text())["n_layers"]
    with open(few / "model.safetensors", "rb") as source, open(partial / "model.safetensors", "wb") as target:
        size = int.from_bytes(source.read(8), "little")
        kept = json.loads(source.read(size))
        kept.pop("__metadata__", None)
        header, copies, end = {}, [], 0
        for name, tensor in kept.items():
            before, layer, after = re.fullmatch(r"(.*blocks\.)(\d+)(\..*)|.*", name).groups()
            begin, until = tensor["data_offsets"]
            for number in range(int(layer), shape(machine)["n_layers"], drawn) if layer else [None]:
                header[f"{before}{number}{after}" if layer else name] = tensor | dict(data_offsets=[end, end + until - begin])
                copies.append((8 + size + begin, until - begin))
                end += until - begin
        text = json.dumps(header).encode()
        target.write(len(text).to_bytes(8, "little") + text)
        for begin, length in copies:
            source.seek(begin)
            target.write(source.read(length))
    partial.rename(folder)
    machine.say("random weights of all layers: made")
    return folder


# --- decoding and updates beside the originals

def compare(machine, name, program, folder, seconds, *options):
    """@return the cases of bench/decode_bench or bench/update_bench, and what went wrong"""
    results = machine.out / f"{name}.jsonl"
    results.unlink(missing_ok=True)
    wrong = machine.run(name, [machine.build / "bench" / program, "--shape", folder, "--device", machine.device, "--json", results, *options], seconds)
    found = json_lines(results)
    return found, [wrong] if wrong else [] if found else [f"{name}: nothing was measured"]


def decoding(machine):
    length, batches = (64, ["1", "2"]) if machine.rehearse else (256, ["1", "16"])
    folder, common = all_layers(machine), ["--dtype", "bfloat16", "--length", str(length), "--batch", *batches, "--decoder"]
    wide, problems = compare(machine, "decode", "decode_bench", folder, 200, *common, "llada", "fast_prefix", "fast_dual")
    narrow, more = compare(machine, "decode.nf4", "decode_bench", folder, 60, *common, "fast_dual", "--drift-only", "--set", "model.quantize=nf4")
    seconds = {(one["decoder"], one["batch"]): one["seconds"] for one in wide}
    rows = [("decoder", "rows", "forwards of a row", "seconds", "original, s", "original / Drift", "tokens/s")]
    for one in wide:
        rows.append((one["decoder"], one["batch"], one["forwards"] / one["batch"], one["seconds"], one["original_seconds"], one["ratio"],
                     one["batch"] * length / one["seconds"]))
    for one in narrow:
        bfloat16 = seconds.get((one["decoder"], one["batch"]))
        rows.append((f"{one['decoder']}, nf4 (original: bfloat16)", one["batch"], one["forwards"] / one["batch"], one["seconds"], bfloat16,
                     bfloat16 and bfloat16 / one["seconds"], one["batch"] * length / one["seconds"]))
    return rows, problems + more


def updates(machine):
    dtype = ["--dtype", "bfloat16", "--rounds", "1" if machine.rehearse else "3", "--algorithm"]
    layers = 2 if machine.rehearse else 4
    all_weights, problems = compare(machine, "update", "update_bench", few_layers(machine), 120, *dtype, "rldf", "d1", "espo")
    adapters, more = compare(machine, "update.adapters", "update_bench", all_layers(machine), 100, *dtype, "rldf", "--set", "adapter.kind=lora",
                             "adapter.rank=128", "adapter.alpha=64")
    rows = [("update", "seconds", "original, s", "original / Drift", "share of the product rate", "two passes")]
    for of, found in ((f"{layers} layers, all weights", all_weights), ("adapters of rank 128", adapters)):
        rows += [(f"{one['algorithm']}, {of}", one["seconds"], one["original_seconds"], one["ratio"], one["share"], str(one["two_pass"]).lower())
                 for one in found]
    return rows, problems + more


# --- drift train

class MemoryWatch:
    """The most memory in use on the GPU, in GiB, while it is watched."""

    def __init__(self, machine):
        self.most, self.done = None, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        if machine.device == "cuda" and shutil.which("nvidia-smi"):
            self.thread.start()

    def watch(self):
        while not self.done.wait(0.3):
            now = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
            if now.split():
                self.most = max(self.most or 0, int(now.split()[0]) / 1024)

    def end(self):
        self.done.set()
        if self.thread.ident:
            self.thread.join()
        return self.most


def faults_of(steps):
    """Why the steps of a run are no measurement: an update that did not happen takes no time."""
    if not steps:
        return ["no step was made"]
    return [f"the update of step {step['step']} did not happen: {step['groups'] - step['live_groups']} of its {step['groups']} groups have "
            "equal rewards" for step in steps
            if step["skipped"] or step["loss"] is None or step["live_groups"] < step["groups"] or not step["update_backwards_per_response"]]


def step_of(machine, name, file, model, seconds, rate, *words):
    """One row of the table: the last step of a run. @return it, and what went wrong"""
    folder = machine.work / "run"
    command = [machine.build / "bin/drift", "train", machine.root / "bench" / file, "--model", model, "--device", machine.device, *settings(*words)]
    wrong = machine.run(f"{name}.plan", [*command, "--dry-run", "--json"], 60)
    printed = "\n" + (machine.out / f"{name}.plan.log").read_text()  # warnings, too
    plan = None if wrong else json.JSONDecoder().raw_decode(printed, printed.index("\n{") + 1)[0]
    shutil.rmtree(folder, ignore_errors=True)
    watch = MemoryWatch(machine)
    wrong = machine.run(name, [*command, "--out", folder, "--overwrite"], seconds) or wrong
    memory = watch.end()
    steps = json_lines(folder / "metrics.jsonl")
    problems = [wrong] if wrong else [f"{name}: {fault}" for fault in faults_of(steps)]
    if not steps or not plan:
        return (name, *[None] * 9), problems
    shutil.copy(folder / "metrics.jsonl", machine.out / f"{name}.jsonl")
    last, config = steps[-1], json.loads((model / "config.json").read_text())
    hidden, inner = config["d_model"], config["mlp_hidden_size"]
    # Products of the layers, forward; backward as much for the gradient of what is frozen, twice as much for what is trained.
    a_response = (plan["prompt_tokens"]["mean"] + plan["response_length"]) * 2 * config["n_layers"] * (4 * hidden * hidden + 3 * hidden * inner)
    backward = 2 if "adapter.kind=none" in words else 1
    passes = last["update_forwards_per_response"] + backward * last["update_backwards_per_response"]
    spent = sum(last["seconds"][phase] for phase in ("old", "reference", "update"))
    share = rate and plan["prompts_per_step"] * plan["group_size"] * a_response * passes / spent / rate
    return (name, *(last["seconds"][phase] for phase in PHASES), last["tokens_per_second"], share, memory,
            plan["memory"]["together"] / 2**30), problems


def train(machine):
    rate = product_rate(machine)
    whole, few = all_layers(machine), few_layers(machine)
    sizes = ["train.prompts_per_step=2", "train.group_size=4", "rollout.length=32", "rollout.steps=4"] if machine.rehearse else \
        ["train.prompts_per_step=8", "train.group_size=4", "rollout.length=256", "rollout.steps=16"]
    sizes.append("rollout.cache=dual")
    all_weights = ["adapter.kind=none", "train.moments=bfloat16"]
    cases = [("best", "step.toml", whole, 60, *sizes, "train.memory_budget_mib=40960", "adapter.dropout=0.0"),
             ("default", "step.toml", whole, 60, *sizes),
             ("nf4", "step.toml", whole, 60, *sizes, "model.quantize=nf4"),
             ("all_weights", "step.toml", few, 60, *sizes, *all_weights),
             ("offloaded_reference", "step.toml", few, 60, *sizes, *all_weights, "reference.offload=true"),
             ("gdpo", "gdpo_step.toml", whole, 120, *(["rollout.length=64", "rollout.steps=8"] if machine.rehearse else []))]
    rows = [("setting", *(f"{phase}, s" for phase in PHASES), "tokens/s", "update, share of the product rate", "peak memory, GiB", "planned, GiB")]
    problems = []
    for name, file, model, seconds, *words in cases:
        row, wrong = step_of(machine, name, file, model, seconds, rate, *words)
        rows.append(row)
        problems += wrong
    return rows, problems
