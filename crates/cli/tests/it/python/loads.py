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


    def without_null(value):
        """Columns of a loader are those of all rows: what a row does not have is None there, and absent in the line."""
        if isinstance(value, dict):
            return {k: without_null(v) for k, v in value.items() if v is not None}
        if isinstance(value, list):
            return [without_null(v) for v in value]
        return value

    for number, (row, line) in enumerate(zip(rows, lines)):
        assert without_null(row) == without_null(line), f"{name}, row {number}:\n{row}\n{line}"
    loaded[name] = len(rows)
json.dump(loaded, sys.stdout)
