"""What the command-line tests share: running the program, reading its JSON, temporary folders (standard library only)."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
PROGRAM = ""
TINY_MODELS = ["llama", "llama_sharded", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gemma3", "qwen2_moe", "qwen3_moe",
               "mixtral", "qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen3_5_mtp", "qwen3_5_moe_mtp", "deepseek_v3_mtp",
               "glm4_moe_mtp"]


class Run:
    """One finished run of the program."""

    def __init__(self, arguments, process):
        self.arguments = arguments
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"amphora {' '.join(map(str, self.arguments))}\nstatus {self.status}\n{self.err.decode(errors='replace')}"


def run(*arguments, stdin=b"", timeout=600):
    process = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout)
    return Run(arguments, process)


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="amphora-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ok(self, *arguments, **options):
        """Runs the program and wants status 0."""
        result = run(*arguments, **options)
        self.assertEqual(result.status, 0, str(result))
        return result

    def refused(self, status, *arguments, words=(), **options):
        """Runs the program and wants a non-zero status, one line on stderr and nothing on stdout."""
        result = run(*arguments, **options)
        self.assertEqual(result.status, status, str(result))
        lines = result.err.decode().splitlines()
        self.assertEqual(len(lines), 1, str(result))
        for word in words:
            self.assertIn(word, lines[0])
        return result

    def converted(self, model, quant="f32"):
        """Path of a tiny model, converted."""
        path = self.folder / f"{model}-{quant}.cmf"
        self.ok("convert", DATA / "hf" / "tiny" / model, "-o", path, "--quant", quant, "-q")
        return path

    def files(self):
        return sorted(entry.name for entry in self.folder.iterdir())


def main():
    global PROGRAM
    if len(sys.argv) < 2:
        sys.exit("usage: test_NAME.py PROGRAM [unittest options]")
    PROGRAM = sys.argv.pop(1)
    unittest.main(module="__main__", verbosity=2)
