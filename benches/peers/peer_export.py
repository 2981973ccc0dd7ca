"""Training sets as a plain script would write them without us: no signatures, no scan, no bounds.

Each session whose verdicts hold a PASS becomes a supervised row; of each task that has both, the first that passed and
the first that did not become a pair.

usage: peer_export.py DATA_DIR OUT
"""

import json
import sys
import time
from pathlib import Path


def turns_of(event: dict) -> list[dict]:
    if event["type"] == "message":
        turn = {"role": event["role"], "content": event["text"], "train": event["role"] == "assistant"}
        if event.get("thinking"):
            turn["reasoning_content"] = event["thinking"]
        return [turn]
    if event["type"] == "tool_call":
        function = {"name": event["tool"], "arguments": event["input"]}
        call = {"id": event["call_id"], "type": "function", "function": function}
        return [
            {"role": "assistant", "content": "", "tool_calls": [call], "train": True},
            {
                "role": "tool",
                "tool_call_id": event["call_id"],
                "name": event["tool"],
                "content": event["output"],
                "train": False,
            },
        ]
    return []


def main() -> None:
    data_dir, out = map(Path, sys.argv[1:3])
    started = time.monotonic()
    tasks: dict[tuple, dict[bool, list]] = {}
    with open(out / "sft.jsonl", "w", encoding="utf-8") as rows:
        for path in sorted((data_dir / "traces").glob("*.jsonl")):
            start, turns, verdicts = None, [], []
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "session_start":
                        start = start or event
                    elif event["type"] == "oracle_verdict":
                        verdicts.append(event)
                    else:
                        turns.extend(turns_of(event))
            if start is None or not verdicts:
                continue
            passed = any(verdict["mode"] == "grade" and verdict["verdict"] == "PASS" for verdict in verdicts)
            if passed:
                rows.write(json.dumps({"messages": turns, "session_id": start["session_id"]}) + "\n")
            task = tasks.setdefault((start["repo"], start["task_id"]), {True: [], False: []})
            task[passed].append(turns)
    with open(out / "preference.jsonl", "w", encoding="utf-8") as rows:
        for _, task in sorted(tasks.items()):
            if task[True] and task[False]:
                chosen, rejected = task[True][0], task[False][0]
                pair = {"prompt": chosen[:1], "chosen": chosen[1:], "rejected": rejected[1:]}
                rows.write(json.dumps(pair) + "\n")
    print(f"{time.monotonic() - started:.2f} s")


if __name__ == "__main__":
    main()
