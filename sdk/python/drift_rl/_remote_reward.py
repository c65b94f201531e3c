"""A function as the reward of a run: the run's component, and what answers it in the process of the function."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from multiprocessing.connection import Connection
from typing import Callable, Optional

import drift

Function = Callable[[str, str], float]


class RemoteReward(drift.Reward):
    """A function of the Python process that trains: drift_rl.train(…, reward=function)."""

    asking = threading.Lock()  # while one thread waits for its answer, others run
    asked: list[Connection] = []

    def score(self, request: drift.Request) -> drift.Verdict:
        with self.asking:
            if not self.asked:
                if "DRIFT_REWARD" not in os.environ:
                    what = "the reward of this run is a function of the Python process that trained it"
                    raise drift.Error(what, "drift_rl.train(…, reward=function), or another reward.name")
                self.asked.append(Connection(int(os.environ["DRIFT_REWARD"])))
            self.asked[0].send_bytes(json.dumps([request.response, request.item.reference]).encode())
            said = json.loads(self.asked[0].recv_bytes())
        if isinstance(said, str):
            raise drift.Error(f"the function of the reward has raised {said}")
        return drift.Verdict(said, said >= 1)


def answer(questions: Connection, function: Function) -> Optional[Exception]:
    """Answers one question. What the function raises is returned here, and told there."""
    raised = None
    with contextlib.suppress(EOFError, OSError):  # the run has ended
        asked = json.loads(questions.recv_bytes())
        try:
            value = float(function(*asked))
            if not 0 <= value <= 1:
                raise drift.Error(f"the reward of a response is {value}", "a reward is a number from 0 to 1")
            said = json.dumps(value)
        except Exception as error:
            raised, said = error, json.dumps(f"{type(error).__name__}: {error}")
        questions.send_bytes(said.encode())
    return raised
