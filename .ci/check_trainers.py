"""Gives training sets to the trainers' own loaders, with a byte-level tokenizer made here and no network.

usage: check_trainers.py tokenizer FOLDER
       check_trainers.py SETS TEMPLATES

The first writes the tokenizer. SETS holds one export a dialect, that of trl written with the tokenizer; TEMPLATES holds
`chatml.jinja`. One line a dialect; exits with 1 when one of them failed.
"""

import copy
import glob
import importlib.util
import json
import os
import sys
import tempfile
import traceback
from types import SimpleNamespace

os.environ["HF_HUB_OFFLINE"] = "1"

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SETS, TEMPLATES = sys.argv[1], sys.argv[2]
LONG = 10**7


def path(dialect, name):
    return f"{SETS}/{dialect}/{name}"


def rows(dialect, name="sft"):
    for file in sorted(glob.glob(path(dialect, f"{name}/*.jsonl"))):
        with open(file, encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def tokenizer(template=None):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_alone = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytes_alone.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bytes_alone,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    if template:
        with open(f"{TEMPLATES}/{template}.jinja", encoding="utf-8") as text:
            made.chat_template = text.read()
    return made


def trained(ids, labels, tokens):
    """What is trained and what is not, as texts."""
    said = tokens.decode([token for token, label in zip(ids, labels, strict=True) if label != -100])
    rest = tokens.decode([token for token, label in zip(ids, labels, strict=True) if label == -100])
    return said, rest


def holds_mask(said, rest, messages):
    for message in messages:
        text = message["content"]
        if message["train"]:
            assert text in said, f"not trained: {text[:80]}"
        else:
            assert text in rest, f"not there: {text[:80]}"
            # A short text may stand in another.
            assert len(text) < 60 or text not in said, f"trained: {text[:80]}"


def trl():
    import datasets
    import yaml
    from transformers import LlamaConfig, LlamaForCausalLM
    from trl import SFTConfig, SFTTrainer

    tokens = tokenizer()
    with open(path("trl", "trl-sft.yaml"), encoding="utf-8") as text:
        shipped = yaml.safe_load(text)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokens), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2
        )
    )
    loaded = datasets.load_dataset("json", data_files=path("trl", "sft/train-*.jsonl"), split="train")
    with tempfile.TemporaryDirectory() as out:
        options = SFTConfig(
            output_dir=out,
            max_steps=1,
            per_device_train_batch_size=1,
            assistant_only_loss=shipped["assistant_only_loss"],
            max_length=shipped["max_length"],
            chat_template_path=path("trl", shipped["chat_template_path"]),
            report_to="none",
            use_cpu=True,
        )
        trainer = SFTTrainer(model=model, args=options, train_dataset=loaded, processing_class=tokens)
        assert len(trainer.train_dataset) == len(loaded), "it dropped rows"
        for taken, row in zip(trainer.train_dataset, loaded, strict=True):
            counted = json.loads(row["metadata"])
            learned = sum(label != -100 for label in taken["labels"])
            assert (len(taken["input_ids"]), learned) == (counted["tokens"], counted["trained_tokens"])
        trainer.train()
    return "SFTTrainer with the shipped template counts and trains the tokens that the rows say, and makes a step"


def axolotl():
    import yaml
    from axolotl.prompt_strategies.chat_template import load
    from axolotl.utils.dict import DictDefault

    with open(path("axolotl", "axolotl-sft.yaml"), encoding="utf-8") as text:
        options = yaml.safe_load(text)
    tokens = tokenizer("chatml")
    given = DictDefault({**options, "train_on_inputs": False, "sequence_len": LONG})
    strategy = load(tokens, given, ds_cfg=DictDefault(options["datasets"][0]))
    for row in rows("axolotl"):
        found = strategy.tokenize_prompt(row)
        said, rest = trained(found["input_ids"], found["labels"], tokens)
        holds_mask(said, rest, row["messages"])
    return "its chat_template strategy trains what `train` marks, and nothing else"


def llamafactory():
    from llamafactory.data.converter import get_dataset_converter
    from llamafactory.data.parser import get_dataset_list
    from llamafactory.data.template import TEMPLATES

    tokens = tokenizer("chatml")
    options = get_dataset_list(["trace_lake_sft"], f"{SETS}/llamafactory")[0]
    convert = get_dataset_converter(options.formatting, options, SimpleNamespace(media_dir=""))
    template = copy.deepcopy(TEMPLATES["qwen"])
    # It may have fewer rows.
    others = {row["session_id"]: row for row in rows("trl")}
    for row in rows("llamafactory"):
        canonical = others[row["session_id"]]
        found = convert(row)
        assert found["_prompt"] and found["_response"], "the converter passed over a row"
        turns = template.encode_multiturn(
            tokens, found["_prompt"] + found["_response"], found["_system"], found["_tools"]
        )
        said = "".join(tokens.decode(answer) for _, answer in turns)
        for message in canonical["messages"]:
            assert message["role"] != "assistant" or message["content"] in said
            for call in message.get("tool_calls", []):
                assert json.dumps(call["function"]["name"], ensure_ascii=False) in said
    return "its converter and the template `qwen` take all rows, with each word and call of the model in what is trained"


def swift():
    from swift.dataset import load_dataset

    loaded, _ = load_dataset([path("swift", "sft/train-00000-of-00001.jsonl")], strict=True, num_proc=1)
    for row, canonical in zip(loaded, rows("trl"), strict=True):
        calls = sum(len(message.get("tool_calls", [])) for message in canonical["messages"])
        roles = [message["role"] for message in row["messages"]]
        assert roles.count("tool_call") == calls
        assert roles.count("tool") + roles.count("tool_response") == calls
        masks = {bool(message["loss"]) for message in row["messages"] if message.get("loss") is not None}
        assert masks == {m["train"] for m in canonical["messages"] if m["role"] == "assistant"}
    if glob.glob(path("swift", "preference/*")):
        pairs, _ = load_dataset([path("swift", "preference/train-00000-of-00001.jsonl")], strict=True, num_proc=1)
        assert all(row["messages"] and row["rejected_messages"] for row in pairs)
    return "its load_dataset takes all rows and pairs, with each call, output and `loss`"


def tinker():
    from tinker_cookbook import renderers

    spec = importlib.util.spec_from_file_location("tinker_sft", path("tinker", "tinker_sft.py"))
    shipped = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shipped)
    renderer = renderers.get_renderer("qwen3", tokenizer("chatml"))
    made = sum(1 for _ in shipped.data(renderer, max_length=LONG))
    assert made == sum(1 for _ in rows("tinker"))
    return "its renderer `qwen3` makes a datum of each row, through the shipped tinker_sft.py"


def atif():
    from harbor.models.trajectories import Trajectory

    for row in rows("atif"):
        Trajectory.model_validate(row)
    return "Harbor's models take all trajectories"


if SETS == "tokenizer":
    tokenizer().save_pretrained(TEMPLATES)
    sys.exit()
failed = False
for check in (trl, axolotl, llamafactory, swift, tinker, atif):
    try:
        print(f"{check.__name__}: {check()}", flush=True)
    except Exception:
        traceback.print_exc()
        print(f"{check.__name__}: FAILED", flush=True)
        failed = True
sys.exit(failed)
