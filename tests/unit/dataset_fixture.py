#!/usr/bin/env python3
"""Writes the files that dataset_parquet_test reads: dataset_fixture.parquet, a small table like the hub's, with every
kind of column that a data set may have; dataset_dense.parquet and dataset_rows.parquet, a few kilobytes that hold many megabytes. Needs pyarrow.

    python3 tests/unit/dataset_fixture.py
"""

import datetime
import pathlib

import pyarrow
import pyarrow.parquet

rows = 5
table = pyarrow.table(
    {
        "task_id": pyarrow.array([11, 12, 13, 14, 15], pyarrow.int32()),
        "text": ["Add.", "π × 2\nlines", "", None, "last"],
        "code": pyarrow.array([f"import os\ndef f{i}(a):\n    return a" for i in range(rows)], pyarrow.large_string()),
        "test_list": pyarrow.array([["assert f0(1) == 1", "assert f0(2) == 2"], ["assert True"], [], None, ["x"]],
                                   pyarrow.list_(pyarrow.string())),
        "answer": pyarrow.array([27.0, 0.5, -3.0, None, 1e300], pyarrow.float64()),
        "half": pyarrow.array([0.5, 1.5, 2.5, 3.5, 4.5], pyarrow.float32()),
        "odd": pyarrow.array([0.00005, float("nan"), float("inf"), float("-inf"), 1e21], pyarrow.float64()),
        "single": pyarrow.array([0.1, 5e-5, 1e10, float("nan"), 16777216], pyarrow.float32()),
        "huge": pyarrow.array([2**64 - 1, 2**63, 1, 0, None], pyarrow.uint64()),
        "level": pyarrow.array(["easy", "hard", "easy", None, "hard"]).dictionary_encode(),
        "info": pyarrow.array([{"numbers": [30, 100, 93], "target": 23}, {"numbers": [], "target": None}, None,
                               {"numbers": None, "target": 2**40}, {"numbers": [1], "target": -1}],
                              pyarrow.struct([("numbers", pyarrow.list_(pyarrow.int64())), ("target", pyarrow.int64())])),
        "solved": [True, False, None, True, False],
        "day": pyarrow.array([datetime.date(2024, 2, 29)] * rows, pyarrow.date32()),
    }
)
folder = pathlib.Path(__file__).parent
pyarrow.parquet.write_table(table, folder / "dataset_fixture.parquet", row_group_size=2, compression="zstd")

mib = 2**20
dense = pyarrow.table(
    {
        "question": ["a", "b", "c", "d"],
        "answer": ["1", "2", "3", "4"],
        "picture": pyarrow.array([b"\xff\xd8\xff\xe0", b"fine", None, b"\x80"], pyarrow.binary()),
        "image": [{"path": "a.jpg", "bytes": b"\xff\xd8"}] * 4,
        "page": ["x" * 16 * mib, "x", "x", "x"],  # one page, of one long text
        "repeated": ["y" * 8 * mib] * 4,  # once in the file, and a number for each row
        "zeros": pyarrow.array([[0] * 2 * mib, [], [], []], pyarrow.list_(pyarrow.int8())),
    }
)
pyarrow.parquet.write_table(dense, folder / "dataset_dense.parquet", compression="zstd",
                            use_dictionary=["question", "answer", "repeated", "zeros.list.element"])
rows = pyarrow.table({"question": ["z"] * 2**20})
pyarrow.parquet.write_table(rows, folder / "dataset_rows.parquet", compression="zstd", row_group_size=2**20)
