"""Loads both sets of an export with `datasets`, and compares them with the lines as json reads them."""
import glob
import json
import sys

import datasets

out = sys.argv[1]
loaded = {}
for name in ("sft", "preference"):
    files = sorted(glob.glob(f"{out}/{name}/*.jsonl"))
    rows = datasets.load_dataset("json", data_files=files, split="train")
    lines = [json.loads(line) for path in files for line in open(path, encoding="utf-8")]
    assert len(rows) == len(lines), (name, len(rows), len(lines))

    for number, (row, line) in enumerate(zip(rows, lines)):
        assert row == line, f"{name}, row {number}:\n{row}\n{line}"
    loaded[name] = len(rows)
json.dump(loaded, sys.stdout)
