"""Counts an export's rows with transformers, and looks at every token that would be trained."""
import glob
import json
import os
import re
import sys

import datasets
from transformers import PreTrainedTokenizerFast



class Case:
    """An export, and the tokenizer and the template that it was made with."""

    def __init__(self, out, tokenizer, template):
        self.out = out
        config = json.load(open(os.path.join(tokenizer, "tokenizer_config.json")))
        text = lambda token: token if isinstance(token, str) else token["content"]
        specials = {name: text(config[name]) for name in ("bos_token", "eos_token")}
        self.theirs = PreTrainedTokenizerFast(tokenizer_file=os.path.join(tokenizer, "tokenizer.json"), **specials)
        self.own = open(template, encoding="utf-8").read()
        self.shipped = self.file("chat_template.jinja")
        self.manifest = json.loads(self.file("manifest.json"))

    def file(self, name):
        return open(os.path.join(self.out, name), encoding="utf-8").read()

    def rows(self, name):
        for path in sorted(glob.glob(f"{self.out}/{name}/*.jsonl")):
            for line in open(path, encoding="utf-8"):
                yield json.loads(line)

    def text(self, messages, tools, template):
        return self.theirs.apply_chat_template(messages, tools=tools, chat_template=template, tokenize=False)

    def encode(self, messages, tools):
        return self.theirs.apply_chat_template(
            messages, tools=tools, chat_template=self.shipped, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )


def runs(mask):
    found, start = [], None
    for at, trained in enumerate([*mask, 0]):
        if trained and start is None:
            start = at
        elif not trained and start is not None:
            found.append([start, at])
            start = None
    return found


TRAINED, UNTRAINED, OTHERS = "λ", "μ", "ø"


def said_in(value, letter):
    """The same value, each text of it in one letter: whose a token is can be seen in it."""
    if isinstance(value, str):
        return re.sub(r"\S", letter, value)
    if isinstance(value, dict):
        return {letter * (at + 1): said_in(item, letter) for at, item in enumerate(value.values())}
    return [said_in(item, letter) for item in value] if isinstance(value, list) else value


def lettered(message):
    """A message with all that somebody said in it in that one's letter."""
    letter = OTHERS if message["role"] != "assistant" else TRAINED if message["train"] else UNTRAINED
    out = {key: said_in(item, letter) if key in ("content", "reasoning_content", "name") else item for key, item in message.items()}
    if "tool_calls" in message:
        out["tool_calls"] = [{**call, "function": said_in_function(call["function"], letter)} for call in message["tool_calls"]]
    return out


def said_in_function(function, letter):
    return {"name": said_in(function["name"], letter), "arguments": said_in(function["arguments"], letter)}


HEADERS = ("<|im_start|>", "<|start_header_id|>", "tool_response", "<output>", "user", "system", "assistant")


def prove(case, row, tools):
    """Token by token: all that the model said in a turn that is trained is trained, and nothing that anybody else said."""
    messages = [lettered(message) for message in row["messages"]]
    text = case.text(messages, tools, case.shipped)
    encoded = case.encode(messages, tools)
    places = set()
    for (start, end), is_trained in zip(encoded.encodings[0].offsets, encoded["assistant_masks"], strict=True):
        if is_trained:
            assert not set(text[start:end]) & {OTHERS, UNTRAINED}, text[max(0, start - 40) : end + 40]
            places.update(range(start, end))
    lost = [at for at, letter in enumerate(text) if letter == TRAINED and at not in places]
    assert not lost, text[max(0, lost[0] - 40) : lost[0] + 40]
    trained = "".join(text[at] for at in sorted(places))
    assert not [header for header in HEADERS if header in trained], trained
    return sum(letter == TRAINED for letter in text)


def compared(case):
    counted = {"sft": 0, "preference": 0, "tokens": 0, "trained": 0, "untrained_turns": 0, "letters": 0}
    longest = 0
    tables = datasets.load_dataset("json", data_files=sorted(glob.glob(f"{case.out}/sft/*.jsonl")), split="train")
    for row, loaded in zip(case.rows("sft"), tables, strict=True):
        tools, said = json.loads(row["tools"]), json.loads(row["metadata"])
        encoded = case.encode(row["messages"], tools)
        ids, mask = encoded["input_ids"], encoded["assistant_masks"]
        assert len(ids) == said["tokens"], (row["session_id"], len(ids), said["tokens"])
        assert runs(mask) == said["trained_runs"], (row["session_id"], runs(mask), said["trained_runs"])
        assert sum(mask) == said["trained_tokens"] >= 1
        assert case.encode(loaded["messages"], tools)["assistant_masks"] == mask
        plain = [{key: value for key, value in message.items() if key != "train"} for message in row["messages"]]
        assert case.text(plain, tools, case.own) == case.text(row["messages"], tools, case.shipped)
        counted["letters"] += prove(case, row, tools)
        counted["sft"] += 1
        counted["tokens"] += len(ids)
        counted["trained"] += sum(mask)
        counted["untrained_turns"] += sum(m["role"] == "assistant" and not m["train"] for m in row["messages"])
        longest = max(longest, len(ids))
    sft = case.manifest["tokens"]["sets"]["sft"]
    assert [sft[key] for key in ("sequences", "tokens", "trained")] == [counted[key] for key in ("sft", "tokens", "trained")]
    assert sft["longest"] == longest and f"max_length: {longest}\n" in case.file("trl-sft.yaml")
    assert sum(one["sequences"] for one in sft["histogram"]) == counted["sft"]
    for row in case.rows("preference"):
        tools, said = json.loads(row["tools"]), json.loads(row["metadata"])
        for side in ("chosen", "rejected"):
            ids = case.encode(row["prompt"] + row[side], tools)["input_ids"]
            assert len(ids) == said[side]["tokens"], (side, len(ids), said[side]["tokens"])
        counted["preference"] += 1
    return counted


json.dump([compared(Case(*case)) for case in json.loads(sys.argv[1])], sys.stdout)
