"""Compares ids and decoded text with the sentencepiece library on random texts.

usage: differential_sentencepiece.py SENTENCEPIECE_LINES [--count N] [--seed S] [FILE.model ...]

SENTENCEPIECE_LINES is the program of that name (target sentencepiece_lines). Without files: the models of
tests/data/tokenizers/trained. Needs sentencepiece==0.2.3. Texts are encoded as ordinary text; what they decode to is
compared, and so is what random ids decode to, but for models that get standard components: those show unknown pieces and bytes
that are no UTF-8 in their own way. Exit status 1 if anything differs.
"""
import argparse
import glob
import json
import random
import subprocess
import sys
import sentencepiece

BLOCKS = [(0x20, 0x7F), (0x20, 0x7F), (0x61, 0x7B), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0xE00), (0x1100, 0x1200), (0x1E00, 0x2070), (0x2070, 0x2C00),
          (0x3000, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xF900, 0xFB00), (0xFE00, 0x10000), (0x1F300, 0x1F700), (0, 0x110000)]
WORDS = ["hello", " the", "don't", "I'M", "  ", "   ", "\n", "\t", "\r\n", "1234", "\u2581", "\u2581\u2581", "\u2581 \u2581", "<s>", "</s>", "<unk>", "<pad>", "<0x41>", " .", "e\u0301", "q\u0323\u0307",
         "\u200d", "\u00a0", "\u3000", "\u2003", "\u200b", "\u0085", "\u2028", "\ufeff", "\ufb01", "\u0130", "\ufffd", "\uff21\uff22", "\u30ab\u3099", "\u1100\u1161\u11a8", "\u2047", " \u2047 ",
         "aaaa", "ab" * 9, "aaa" * 11, " " * 17, "=" * 23, "word" * 30, "--" * 8, "\u0301\u0301 \u0301"]


def character(rng):
    while True:
        c = rng.randrange(*rng.choice(BLOCKS))
        if c and not 0xD800 <= c < 0xE000:
            return chr(c)


def text(rng, pieces):
    def part():
        kind = rng.random()
        if kind < 0.3:
            return rng.choice(WORDS)
        if kind < 0.5:
            return rng.choice(pieces).replace("\u2581", rng.choice([" ", " ", "\u2581"]))
        if kind < 0.65:
            return "".join(rng.choice("abcdehlorst .,!") for _ in range(rng.randrange(1, 12)))
        if kind < 0.7:
            return rng.choice("aab =-1\u2581") * rng.randrange(1, 20)
        return character(rng) * (1 if rng.random() < 0.9 else rng.randrange(2, 6))
    return "".join(part() for _ in range(rng.randrange(1, 300 if rng.random() < 0.01 else 14)))


def compare(program, path, count, seed):
    reference = sentencepiece.SentencePieceProcessor(model_file=path)
    size = reference.get_piece_size()
    pieces = [reference.id_to_piece(i) for i in range(size)]
    rng = random.Random("%s %s" % (seed, path))
    requests = [text(rng, pieces) for _ in range(count)]
    # Control pieces are left out before decoding, as transformers does; the library would end a run of bytes there.
    shown = [i for i in range(size) if not reference.is_control(i)]
    requests += [[shown[rng.randrange(min(len(shown), rng.choice([10, 270, size])))] for _ in range(rng.randrange(1, 12))] for _ in range(count // 4)]
    lines = json.dumps(path) + "\n" + "".join(json.dumps([r] if isinstance(r, str) else r) + "\n" for r in requests)
    run = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=False)
    answers = run.stdout.decode().split("\n")[:-1]  # not splitlines(): texts may hold other line ends
    if run.returncode != 0 or len(answers) != len(requests) + 1 or answers[0] not in ("true", "false"):
        print("%s: not run: exit %d, %d lines, %s" % (path, run.returncode, len(answers), answers[:1]))
        return 0, 1
    different = 0
    if answers[0] == "true":
        requests = [r for r in requests if isinstance(r, str)]
    for request, line in zip(requests, answers[1:]):
        wanted = reference.decode(request)
        if isinstance(request, str):
            ids = reference.encode(request)
            wanted = [ids, reference.decode(ids)]
        if json.loads(line) != wanted:
            different += 1
            if different <= 3:
                print("%s: %s\n  wanted %s\n  found  %s" % (path, json.dumps(request), json.dumps(wanted), line))
    return len(requests), different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    options = parser.parse_intermixed_args()
    files = options.files or sorted(glob.glob("tests/data/tokenizers/trained/*/*.model"))
    total = [0, 0]
    for path in files:
        compared, different = compare(options.program, path, options.count, options.seed)
        total = [total[0] + compared, total[1] + different]
        print("%s: %d compared, %d different" % (path, compared, different), flush=True)
    print("%d models, %d texts and sequences compared, %d different" % (len(files), *total))
    sys.exit(total[1] != 0)


main()
