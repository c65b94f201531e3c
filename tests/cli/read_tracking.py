"""What the packages tensorboard and wandb read of a run's folder, as JSON. For tracking_cli_test.

read_tracking.py tensorboard FOLDER   its scalars, histograms and texts by tag, with their steps
read_tracking.py wandb FILE           the project, configuration, history and exit code of run-ID.wandb
"""

import json
import sys


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


print(json.dumps({"tensorboard": read_tensorboard, "wandb": read_wandb}[sys.argv[1]](sys.argv[2])))
