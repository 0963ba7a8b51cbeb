"""Two real models from their GGUF files against what the reference computed (tests/data/real/*.json)."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import harness  # noqa: E402
from harness import DATA  # noqa: E402

FETCH = DATA.parent.parent / "scripts" / "fetch-models.sh"
GREEDY_MARGIN = 0.02  # below it, float noise may choose the other token


def comma(ids):
    return ",".join(map(str, ids))


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class RealModel:
    """The tests of one model; subclasses name it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        fetched = subprocess.run([FETCH, cls.fetch_name], capture_output=True, text=True)
        if fetched.returncode != 0:
            raise RuntimeError(f"the model {cls.fetch_name} could not be fetched: {fetched.stderr}")
        cls.gguf = fetched.stdout.strip()
        cls.truth = json.loads((DATA / "real" / cls.truth_file).read_text())
        folder = tempfile.TemporaryDirectory(prefix="amphora-real-")
        cls.addClassCleanup(folder.cleanup)
        cls.models = pathlib.Path(folder.name)

    def convert(self, quant):
        """Path of the model in this type; made once for all tests of the model."""
        path = self.models / f"{quant}.cmf"
        if not path.exists():
            self.ok("convert", self.gguf, "-o", path, "--quant", quant, "-q")
        return path

    def perplexity(self, path, *options):
        tokens = self.folder / "ids.txt"
        tokens.write_text(comma(self.truth["text"]["ids"]))
        return self.ok("ppl", path, "--tokens-file", tokens, "--json", *options).json()

    def test_exact_f32_has_the_references_logits_tokens_and_perplexity(self):
        path = self.convert("f32")
        for prompt in self.truth["prompts"]:
            with self.subTest(prompt=prompt["prompt"][:40]):
                got = self.ok("logits", path, "--tokens", comma(prompt["ids"]), "--exact", "--json", "--top", 10,
                              "--greedy", len(prompt["greedy_ids"])).json()
                self.assertEqual(got["top"][0]["id"], prompt["top10"]["ids"][0])
                for entry, wanted in zip(got["top"], prompt["top10"]["logits"]):
                    self.assertLessEqual(abs(entry["logit"] - wanted), 2e-3)
                certain = next((step for step, margin in enumerate(prompt["greedy_margins"]) if margin < GREEDY_MARGIN),
                               len(prompt["greedy_ids"]))
                self.assertGreater(certain, 0)
                self.assertEqual(got["greedy"][:certain], prompt["greedy_ids"][:certain])
        measured = self.perplexity(path, "--exact")
        self.assertEqual(measured["tokens"], len(self.truth["text"]["ids"]) - 1)
        wanted = self.truth["text"]["perplexity"]
        self.assertLessEqual(abs(measured["ppl"] / wanted - 1), 1e-4, f"{measured['ppl']} against {wanted}")

    def test_f16_stays_within_half_a_percent(self):
        measured = self.perplexity(self.convert("f16"))
        self.assertLessEqual(abs(measured["ppl"] / self.truth["text"]["perplexity"] - 1), 5e-3)

    def test_int8_activations_stay_within_half_a_percent_of_exact(self):
        path, text = self.convert("q8"), DATA / "real" / "prose.txt"
        exact, fast = (self.ok("ppl", path, text, "--json", *options).json() for options in (["--exact"], []))
        self.assertGreater(exact["tokens"], 2000)
        self.assertLessEqual(abs(fast["ppl"] / exact["ppl"] - 1), 5e-3)

    def test_prompts_and_text_become_the_references_ids(self):
        path = self.convert("q8")
        self.ok("verify", path)
        for prompt in self.truth["prompts"]:
            got = self.ok("tokenize", path, prompt["prompt"], "--parse-special", "--json").json()["ids"]
            self.assertEqual(got, prompt["ids"])
        got = self.ok("tokenize", path, "--file", DATA / "real" / "nll_text.txt", "--json").json()["ids"]
        self.assertEqual(got, self.truth["text"]["ids"])

    def test_verify_needs_little_address_space_besides_the_file(self):
        path = self.convert("q8")
        limit = os.path.getsize(path) + (256 << 20)
        process = subprocess.run([harness.PROGRAM, "verify", path], capture_output=True, check=False,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_first_token_comes_with_little_memory_besides_the_file(self):
        """Bounds of memory only; time is measured in bench/."""
        path = self.convert("q8")
        last = json.loads(self.ok("run", path, "--raw", "-p", "The capital of France is", "--max-tokens", 8,
                                  "--json").out.splitlines()[-1])
        self.assertLessEqual(last["peak_rss_mb"], os.path.getsize(path) / 1e6 + 150)


class Gemma(RealModel, harness.CommandLineTest):
    fetch_name, truth_file = "gemma", "gemma3-270m.json"

    def test_rebuilt_tokenizer_equals_the_published_one(self):
        path = self.convert("q8")
        for case in lines_of(DATA / "real" / "gemma3-tokenizer.jsonl"):
            if "ids_plain" not in case:
                continue
            with self.subTest(text=case["text"][:60]):
                text = self.folder / "text"
                text.write_bytes(case["text"].encode("utf-8", "surrogatepass"))
                got = self.ok("tokenize", path, "--file", text, "--parse-special", "--json").json()["ids"]
                self.assertEqual(got, case["ids"])
                if case["ids_plain"]:
                    decoded = self.ok("detokenize", path, comma(case["ids_plain"]), "--json").json()["text"]
                    self.assertEqual(decoded, case["decoded"])

    def test_conversion_stays_within_its_memory(self):
        command = [harness.PROGRAM, "convert", self.gguf, "-o", self.folder / "m.cmf", "--quant", "f32", "-q"]
        process = subprocess.Popen(command)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        largest = 262144 * 640 * 4  # the embedding, in f32
        # The source is mapped: its pages count as resident although the system may take them back at any time.
        self.assertLessEqual(usage.ru_maxrss * 1024, 2 * largest + 200e6 + os.path.getsize(self.gguf))


class Qwen(RealModel, harness.CommandLineTest):
    fetch_name, truth_file = "qwen", "qwen-0.5b.json"

    def test_rebuilt_tokenizer_equals_the_published_one(self):
        path = self.convert("q8")
        for case in json.loads((DATA / "real" / "tokenizer_qwen25.json").read_text())["raw"]:
            with self.subTest(text=case["text"][:60]):
                got = self.ok("tokenize", path, case["text"], "--parse-special", "--json").json()["ids"]
                self.assertEqual(got, case["ids"])

    def test_the_files_chat_template_renders_as_transformers_does(self):
        path, request = self.convert("q8"), self.folder / "request.json"
        cases = lines_of(DATA / "jinja" / "chat_qwen2_5_coder.jsonl")[1:]
        self.assertGreater(len(cases), 30)
        for case in cases:
            request.write_text(json.dumps({"messages": case["messages"], "tools": case["tools"],
                                           "add_generation_prompt": case["add_generation_prompt"],
                                           "variables": case["kwargs"]}))
            result = harness.run("render", path, request, "--json")
            if "output" in case:
                self.assertEqual(result.json()["text"], case["output"])
            else:
                self.assertNotEqual(result.status, 0)


if __name__ == "__main__":
    harness.main()
