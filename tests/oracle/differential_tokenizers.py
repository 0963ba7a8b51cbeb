"""Compares ids and decoded text with Hugging Face `tokenizers` on random texts.

usage: differential_tokenizers.py TOKENIZE_LINES [--count N] [--seed S] [tokenizer.json ...]

TOKENIZE_LINES is the program of that name (target tokenize_lines). Without files: the tokenizers of
tests/data/tokenizers/components.jsonl, those trained for the tests, and the fetched ones. Needs tokenizers==0.23.3.
Texts that the reference refuses or panics on are left out. Exit status 1 if anything differs.
"""
import argparse
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
from tokenizers import Tokenizer

BLOCKS = [(0x20, 0x7F), (0x20, 0x7F), (0x61, 0x7B), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0xE00), (0x1100, 0x1200), (0x1E00, 0x2070), (0x2070, 0x2C00),
          (0x3000, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xF900, 0xFB00), (0xFE00, 0x10000), (0x1F1E6, 0x1F200), (0x1F300, 0x1F700), (0, 0x110000)]
WORDS = ["hello", " the", "don't", "I'M", "  ", "\n", "\t", "\r\n", "1234", "\u2581", "\u2581\u2581", "<s>", "</s>", "<unk>", "[MASK]", "[UNK]", "<pad>", "<|end", "``", "''", "##", " .", "e\u0301", "q\u0323\u0307",
         "\u200d", "\u00a9\u200d\u00ae\u0301", "\u0915\u094d\u0915\u0301", "\u4f60\u597d", "\ufb01", "\u0130", "\ufffd", "\u00a0", "\u3000", "\ufeff", "aaaa", "ab" * 9, "word" * 30, "z" * 120]


def character(rng):
    while True:
        c = rng.randrange(*rng.choice(BLOCKS))
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def text(rng, special):
    def part():
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(WORDS)
        if kind < 0.45 and special:
            return rng.choice(special)
        if kind < 0.6:
            return "".join(rng.choice("abcdehlorst .,!") for _ in range(rng.randrange(1, 12)))
        return character(rng) * (1 if rng.random() < 0.9 else rng.randrange(2, 6))
    return "".join(part() for _ in range(rng.randrange(1, 14)))


def component_files(folder):
    with open("tests/data/tokenizers/components.jsonl") as lines:
        models = json.loads(next(lines))["models"]
        for number, line in enumerate(lines):
            case = json.loads(line)
            model = case["model"]
            whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
            whole.update(case["parts"], model=models[model] if isinstance(model, str) else model)
            path = os.path.join(folder, "%03d.json" % number)
            with open(path, "w") as f:
                json.dump(whole, f)
            yield case["name"], path


def answer(tokenizer, string):
    try:
        ids = tokenizer.encode(string).ids
        return [ids, tokenizer.decode(ids, skip_special_tokens=False)]
    except BaseException as refusal:
        if isinstance(refusal, KeyboardInterrupt):
            raise
        return None


def compare(program, name, path, count, seed):
    try:
        reference = Tokenizer.from_file(path)
    except BaseException as refusal:  # a panic is no Exception
        print("%s: the reference refuses it: %s" % (name, refusal))
        return 0, 0
    reference.no_truncation()
    reference.no_padding()
    rng = random.Random("%s %s" % (seed, name))
    special = [token.content for token in reference.get_added_tokens_decoder().values()]
    texts = [text(rng, special) for _ in range(count)]
    requests = json.dumps(path) + "\n" + "".join(json.dumps([t]) + "\n" for t in texts)
    run = subprocess.run([program], input=requests.encode(), stdout=subprocess.PIPE, check=False)
    lines = run.stdout.decode().split("\n")[:-1]  # not splitlines(): texts may hold other line ends
    if run.returncode != 0 or len(lines) != count + 1 or lines[0] != "true":
        print("%s: not run: exit %d, %d lines, %s" % (name, run.returncode, len(lines), lines[:1]))
        return 0, int(not lines or not lines[0].startswith('{"error"'))  # a refusal is no difference
    compared = different = 0
    for string, line in zip(texts, lines[1:]):
        wanted = answer(reference, string)
        if wanted is None:
            continue
        compared += 1
        found = json.loads(line)
        if found != wanted:
            different += 1
            if different <= 3:
                print("%s: %s\n  wanted %s\n  found  %s" % (name, json.dumps(string), json.dumps(wanted), line))
    return compared, different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "amphora/tokenizers/*/tokenizer.json")
        jobs = [(f, f) for f in options.files] or list(component_files(folder)) + [(f, f) for f in sorted(glob.glob("tests/data/tokenizers/trained/*/tokenizer.json") + glob.glob(cache))]
        total = [0, 0]
        for name, path in jobs:
            compared, different = compare(options.program, name, path, options.count, options.seed)
            total = [total[0] + compared, total[1] + different]
            if different or name == path:
                print("%s: %d compared, %d different" % (name, compared, different), flush=True)
        print("%d tokenizers, %d texts compared, %d different" % (len(jobs), *total))
        sys.exit(total[1] != 0)


if __name__ == "__main__":
    main()
