#!/usr/bin/env python3
"""Makes tekken.json, a `tokenizer.json`, from the vocabulary in PyPI's mistral-common. See README.md."""

import base64, glob, json, os, sys, zipfile

folder = os.path.expanduser(os.environ.get("PALIMPSEST_ORACLES", "~/.cache/palimpsest/oracles"))
wheel = sys.argv[1] if len(sys.argv) > 1 else sorted(glob.glob(f"{folder}/**/mistral_common-*.whl", recursive=True))[-1]
with zipfile.ZipFile(wheel) as archive:
    tekken = json.loads(archive.read("mistral_common/data/tekken_240911.json"))

# GPT-2's printable alphabet for bytes
alphabet = {b: chr(b) for b in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]}
for b in range(256):
    alphabet.setdefault(b, chr(0x100 + sum(other < b and other not in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)] for other in range(256))))
written = lambda text: "".join(alphabet[b] for b in text)

size = tekken["config"]["default_vocab_size"] - tekken["config"]["default_num_special_tokens"]
rank = {base64.b64decode(word["token_bytes"]): i for i, word in enumerate(tekken["vocab"][:size])}
merges = []
for text in sorted(rank, key=rank.get):
    splits = [(rank[text[:k]], rank[text[k:]], text[:k], text[k:]) for k in range(1, len(text)) if text[:k] in rank and text[k:] in rank]
    merges += [[written(left), written(right)] for _, _, left, right in sorted(splits)]

json.dump({
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": tekken["config"]["pattern"]}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
    "post_processor": None, "decoder": None,
    "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
              "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
              "vocab": {written(text): i + 1000 for text, i in rank.items()}, "merges": merges},
}, open(f"{folder}/tekken.json", "w"), ensure_ascii=False)
print(len(rank), "words,", len(merges), "merges")
