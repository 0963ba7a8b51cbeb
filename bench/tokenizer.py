"""Times amphora's tokenizer against the Hugging Face `tokenizers` package: encoding 10 MB of English and code, and loading a
tokenizer.json. One thread each, in turn, in one run. Prints medians of processor time, which on one thread is what a quiet
machine's clock would show, and the range of the rounds' ratios."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer  # noqa: E402  the environment counts from the import on

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "amphora" / "tokenizers"
TEXT_BYTES = 10_000_000


def read_texts(folder):
    """Files of documentation and of source code in turn, until half of TEXT_BYTES is of each kind."""
    texts = []
    for pattern in ["docs/**/*.txt", "**/*.py"]:
        left = TEXT_BYTES // 2
        for path in sorted(folder.glob(pattern)):
            text = path.read_text(encoding="utf-8", errors="strict")[:left]
            left -= len(text.encode())
            if text:
                texts.append(text)
            if left <= 0:
                break
    return texts


class Ours:
    def __init__(self, program, tokenizer):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tokenizer = str(tokenizer)

    def ask(self, what, path):
        self.process.stdin.write(json.dumps([what, str(path)]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def load(self):
        return self.ask("load", self.tokenizer)[0]

    def encode(self, texts_path, _):
        return self.ask("encode", texts_path)


class Peer:
    def __init__(self, tokenizer):
        self.path = str(tokenizer)

    def load(self):
        start = time.process_time()
        self.tokenizer = Tokenizer.from_file(self.path)
        return time.process_time() - start

    def encode(self, _, texts):
        start = time.process_time()
        encoded = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return time.process_time() - start, sum(len(one.ids) for one in encoded)


def print_row(what, ours, theirs, unit, figure):
    ratios = [b / a for a, b in zip(ours, theirs)]
    print(f"| {what} | {figure(statistics.median(ours))} {unit} | {figure(statistics.median(theirs))} {unit} "
          f"| {statistics.median(ratios):.2f} | {min(ratios):.2f} – {max(ratios):.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", required=True, help="the program time_tokenizer")
    parser.add_argument("--text", required=True, type=pathlib.Path, help="folder of documentation (docs/**/*.txt) and code (**/*.py)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("names", nargs="*", default=["qwen3", "gemma3"])
    options = parser.parse_args()

    files = read_texts(options.text)
    print("| what | amphora | tokenizers | times as fast | of pairs |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            path = CACHE / name / "tokenizer.json"
            ours, peer = Ours(options.ours, path), Peer(path)
            pairs = [(ours.load(), peer.load()) for _ in range(options.rounds)]
            print_row(f"{name}: load", *zip(*pairs), "ms", lambda s: f"{s * 1e3:.0f}")
            for what, texts in [(f"{len(files)} files", files), ("one text", ["".join(files)])]:
                texts_path = pathlib.Path(folder) / "texts.json"
                texts_path.write_text(json.dumps(texts))
                size = sum(len(text.encode()) for text in texts)
                pairs = [(ours.encode(texts_path, texts), peer.encode(texts_path, texts)) for _ in range(options.rounds)]
                assert len({tokens for pair in pairs for _, tokens in pair}) == 1, "the two disagree about the number of tokens"
                print_row(f"{name}: encode {size / 1e6:.1f} MB, {what}", [a for (a, _), _ in pairs], [b for _, (b, _) in pairs],
                          "MB/s", lambda s: f"{size / s / 1e6:.1f}")


main()
