#!/usr/bin/env python3
"""Does the time to tokenize grow no faster than the text? Doubles texts that were made to exhaust a tokenizer (D5).

usage: bench/tokenizer_linear.py TOKENIZE_LINES tokenizer.json...

TOKENIZE_LINES is the program of that name (cmake --build --preset release --target tokenize_lines). For each text prints the
processor time for it and for twice of it, the best of five, and their ratio; exit status 1 if a ratio is above 2.3. Wants an
idle machine all the same: neighbours take the caches.
"""
import json
import subprocess
import sys

TEXTS = {"1 MB of A": "A" * (1 << 20), "128 KiB of Z": "Z" * (128 << 10), "us": "us" * 10_000, "spaces": " " * 100_000, "dots": "." * 100_000, "CJK": "\u4e00" * 100_000}
LIMIT = 2.3
SHORTEST = 0.002  # seconds; below it the clock's grain is what is measured


class Program:
    def __init__(self, program, tokenizer):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask(tokenizer)

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/schedstat") as file:
            return int(file.read().split()[0]) * 1e-9

    def ask(self, what):
        line = json.dumps(what).encode() + b"\n"
        start = self.processor_seconds()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        self.process.stdout.readline()
        return self.processor_seconds() - start

    def seconds(self, text):
        return min(self.ask([text]) for _ in range(5))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    worst = 0.0
    for path in sys.argv[2:]:
        program = Program(sys.argv[1], path)
        for name, text in TEXTS.items():
            while (once := program.seconds(text)) < SHORTEST:
                text += text
            ratio = program.seconds(text + text) / once
            worst = max(worst, ratio)
            print(f"{path}: {name}, {len(text)} characters: {once * 1e3:.1f} ms, twice of it {ratio:.2f} times that", flush=True)
    print(f"worst ratio {worst:.2f}, aimed for: {LIMIT}")
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
