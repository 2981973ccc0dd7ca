"""Loads every set of exports in all dialects with `datasets`, and compares what was loaded with the lines as json reads them.

A key that does not apply is absent from a line, and null in a table: nulls are left out of both.
"""
import glob
import json
import sys

import datasets


def bare(value):
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [bare(item) for item in value]
    return value


version = tuple(int(part) for part in datasets.__version__.split(".")[:2])
loaded = {}
for dialect in sys.argv[2:]:
    # Before 4.7 objects of different shapes are given each other's keys.
    if dialect == "trl" and version < (4, 7):
        continue
    for name in ("sft", "preference"):
        files = sorted(glob.glob(f"{sys.argv[1]}/{dialect}/{name}/*.jsonl"))
        if not files:
            continue
        rows = datasets.load_dataset("json", data_files=files, split="train", cache_dir=f"{sys.argv[1]}/cache")
        lines = [json.loads(line) for path in files for line in open(path, encoding="utf-8")]
        assert len(rows) == len(lines), (dialect, name, len(rows), len(lines))
        for number, (row, line) in enumerate(zip(rows, lines)):
            assert bare(row) == bare(line), f"{dialect}, {name}, row {number}:\n{row}\n{line}"
        loaded[f"{dialect}/{name}"] = len(rows)
json.dump(loaded, sys.stdout)
