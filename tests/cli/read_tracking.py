"""What the packages tensorboard and wandb read of a run's folder, as JSON. For tracking_cli_test.

read_tracking.py tensorboard FOLDER   its scalars, histograms and texts by tag, with their steps
read_tracking.py wandb FILE           the project, configuration, history and exit code of run-ID.wandb
read_tracking.py sync FOLDER          the history and the names of the files that `wandb sync` sends to a server
"""

import gzip
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading


def read_tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
    from tensorboard.util import tensor_util

    events = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    session = HParamsPluginData.FromString(events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content)
    hyperparameters = {name: getattr(value, value.WhichOneof("kind"))
                       for name, value in session.session_start_info.hparams.items()}
    texts = {}
    for tag in tags["tensors"]:
        if events.SummaryMetadata(tag).plugin_data.plugin_name == "text":
            texts[tag] = [[e.step, [t.decode() for t in tensor_util.make_ndarray(e.tensor_proto).flatten()]]
                          for e in events.Tensors(tag)]
    return {
        "scalars": {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]},
        "histograms": {tag: [[e.step, e.histogram_value.num] for e in events.Histograms(tag)]
                       for tag in tags["histograms"]},
        "texts": texts,
        "hyperparameters": hyperparameters,
    }


def read_wandb(file):
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    wandb._assert_is_internal_process = True
    store = DataStore()
    store.open_for_scan(file)
    found = {"history": [], "config": {}}
    while (data := store.scan_data()) is not None:
        record = Record.FromString(data)
        if record.HasField("run"):
            found["project"] = record.run.project
            found["name"] = record.run.display_name
            found["config"] = {item.key: json.loads(item.value_json) for item in record.run.config.update}
        if record.HasField("history"):
            found["history"].append({item.nested_key[0]: json.loads(item.value_json) for item in record.history.item})
        if record.HasField("exit"):
            found["exit"] = record.exit.exit_code
    return found


class Server(http.server.BaseHTTPRequestHandler):
    """As much of a server of Weights & Biases as an upload needs."""

    sent = {"history": [], "files": []}

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        answer = {}
        if self.path.endswith("/graphql"):
            request = json.loads(body)
            name = re.search(r"(?:query|mutation)\s+(\w+)", request["query"])
            answer = {"data": self.data(name.group(1) if name else "", request.get("variables") or {})}
        elif self.path.endswith("/file_stream"):
            history = json.loads(body).get("files", {}).get("wandb-history.jsonl", {})
            self.sent["history"] += [json.loads(line) for line in history.get("content", [])]
        elif self.path.startswith("/upload/"):
            self.sent["files"].append(self.path.removeprefix("/upload/"))
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer

    def data(self, name, variables):
        if name == "UpsertBucket":
            project = {"id": "p", "name": variables["project"], "entity": {"id": "e", "name": "e"}}
            run = {"id": "r", "name": variables["name"], "displayName": variables["name"], "config": "{}",
                   "historyLineCount": 0, "project": project}
            return {"upsertBucket": {"bucket": run, "inserted": True}}
        if name == "CreateRunFiles":
            address = "http://127.0.0.1:%d/upload/" % self.server.server_port
            files = [{"name": file, "uploadUrl": address + file} for file in variables["files"]]
            return {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}
        if name == "Viewer":
            return {"viewer": {"id": "v", "entity": "e", "username": "e", "flags": "{}", "teams": {"edges": []}}}
        return {}

    def log_message(self, *arguments):
        pass


def sync(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "WANDB_API_KEY": "0" * 40,
                       "WANDB_BASE_URL": "http://127.0.0.1:%d" % server.server_port}
        subprocess.run([sys.executable, "-m", "wandb", "sync", os.path.abspath(folder)], check=True, cwd=home,
                       env=environment, stdout=sys.stderr, timeout=300)
    return Server.sent


print(json.dumps({"tensorboard": read_tensorboard, "wandb": read_wandb, "sync": sync}[sys.argv[1]](sys.argv[2])))
