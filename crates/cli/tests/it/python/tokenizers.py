"""Makes tokenizers on the spot: no hub, no download. Each folder has a tokenizer.json and its configuration."""
import json
import os
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

out, corpus = sys.argv[1:]
text = open(corpus, encoding="utf-8").read()
lines = [text[at : at + 1000] for at in range(0, len(text), 1000)]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
THREE = WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]


def words(pattern):
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])


def byte_level(pre_tokenizer, normalizer, trim):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=900, initial_alphabet=ALPHABET, show_progress=False))
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in ("<tool_call>", "</tool_call>")])
    return tokenizer


def spaces():
    """As sentencepiece cuts: spaces are part of words, a text's first word gets one."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    tokenizer.decoder = decoders.Metaspace()
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>", *bytes_], show_progress=False)
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return tokenizer


made = {
    "single-digits": byte_level(words(WORDS), normalizers.NFC(), False),
    "three-digits": byte_level(words(THREE), None, True),
    "plain": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), None, True),
    "spaces": spaces(),
}
for name, tokenizer in made.items():
    folder = os.path.join(out, name)
    os.makedirs(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    config = {"bos_token": "<|begin_of_text|>", "eos_token": {"content": "<|im_end|>"}, "add_bos_token": True}
    json.dump(config, open(os.path.join(folder, "tokenizer_config.json"), "w"))
json.dump(sorted(made), sys.stdout)
