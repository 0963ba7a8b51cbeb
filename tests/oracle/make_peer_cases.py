"""Writes tests/data/tokenizers/peers.jsonl: texts that other programs were reported to get wrong, with Hugging Face's ids.

usage: make_peer_cases.py FOLDER     (needs tokenizers==0.23.3; run from the root; FOLDER as scripts/fetch-tokenizers.sh fills it)

One tokenizer a line: `base` names a published vocabulary in FOLDER, or one of the models of components.jsonl, which then has
the members `parts`. `change` is what is done to a published one: its merges are not ignored, none of its tokens is special,
or there are `more_tokens`. Then its cases, [text, ids, ids without special tokens added, text of these ids], or `refused`: the
reference does not take such a file. `name` begins with the case's number.
"""
import json
import os
import sys
from tokenizers import Tokenizer

OUT = "tests/data/tokenizers/peers.jsonl"
PUBLISHED = ["gemma3", "qwen2_5", "qwen3", "llama2", "llama3", "deepseek_v3"]
LINES = ["\n", "\n\n", "\n\n\n\n", "a\n\nb", " \n ", "\t\n\r\n", "   Hello\n    Hello"]
MARKED = ["<|im_start|>user", "<|im_start|>user\nhi<|im_end|>", "a <|im_start|> user", "<|im_start|><|im_start|>user"]
META = ["Hey my <s>how are you", " x", ""]


def added(content, id, **flags):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False, **flags}


def lines():
    viet = [" Vi\u1ec7t", "Vi\u1ec7t", " Vi\u1ec7t Nam"]
    yield "D1", "llama3", {}, viet
    yield "D1, merges not ignored", "llama3", {"change": "merges not ignored"}, viet
    for name in PUBLISHED:
        yield "D2 " + name, name, {}, LINES
        yield "D3 " + name, name, {}, ["<pad>text<eos>", "<pad> text <eos>", "<s>text</s>", "</s> text", "<bos>text"]
        yield "D4 " + name, name, {}, MARKED
    yield "D4 qwen3, nothing special", "qwen3", {"change": "nothing special"}, MARKED
    for normalized in (False, True):
        more = [added("<|im_start|>", 32000, normalized=normalized), added("<|im_end|>", 32001, normalized=normalized)]
        yield "D4 llama2, not special, normalized %s" % normalized, "llama2", {"more_tokens": more}, MARKED
    marks = [added("<s>", 1, special=True), added("</s>", 2, special=True)]
    for scheme in ("always", "first", "never", None):
        for old in (True, False, None):
            meta = {"type": "Metaspace", "replacement": "\u2581"}
            meta.update({} if scheme is None else {"prepend_scheme": scheme}, **({} if old is None else {"add_prefix_space": old}))
            yield "D6 %s %s" % (scheme, old), "bytes", {"parts": {"pre_tokenizer": meta, "decoder": meta, "added_tokens": marks}}, META


def tokenizer_json(base, models, folder, changes):
    if base in models:
        whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": models[base]}
        return json.dumps({**whole, **changes["parts"]})
    with open(os.path.join(folder, base, "tokenizer.json"), encoding="utf-8") as file:
        whole = json.load(file)
    if changes.get("change") == "merges not ignored":
        whole["model"]["ignore_merges"] = False
    if changes.get("change") == "nothing special":
        whole["added_tokens"] = [dict(token, special=False) for token in whole["added_tokens"]]
    whole["added_tokens"] += changes.get("more_tokens", [])
    return json.dumps(whole)


def main():
    with open("tests/data/tokenizers/components.jsonl") as file:
        models = json.loads(next(file))["models"]
    with open(OUT, "w", encoding="utf-8") as out:
        for name, base, changes, texts in lines():
            line = {"name": name, "base": base, **changes}
            try:
                tokenizer = Tokenizer.from_str(tokenizer_json(base, models, sys.argv[1], changes))
            except Exception as refusal:
                print("%s: %s" % (name, refusal))
                out.write(json.dumps({**line, "refused": True}, separators=(",", ":")) + "\n")
                continue
            cases = []
            for text in texts:
                plain = tokenizer.encode(text, add_special_tokens=False).ids
                cases.append([text, tokenizer.encode(text).ids, plain, tokenizer.decode(plain, skip_special_tokens=False)])
            out.write(json.dumps({**line, "cases": cases}, separators=(",", ":")) + "\n")


main()
