"""What the package tensorboard reads of a run's folder, as JSON: scalars, histograms and texts by tag, with their steps.
For tracking_cli_test.

read_tensorboard.py FOLDER
"""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util import tensor_util


def read(folder):
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


print(json.dumps(read(sys.argv[1])))
