"""Tiny models of every family against the logits, ids and losses of the reference (tests/data/hf/tiny/*/golden.json)."""

import json

import harness
from harness import DATA, TINY_MODELS


def golden(model):
    return json.loads((DATA / "hf" / "tiny" / model / "golden.json").read_text())["prompts"]


def comma(ids):
    return ",".join(map(str, ids))


class TinyModels(harness.CommandLineTest):
    def logits(self, path, ids, *options):
        return self.ok("logits", path, "--tokens", comma(ids), "--json", "--all", "--greedy", 24, *options).json()

    def mean_nll(self, path, ids, *options):
        tokens = self.folder / "ids.txt"
        tokens.write_text(comma(ids))
        return self.ok("ppl", path, "--tokens-file", tokens, "--json", *options).json()

    def test_exact_f32_equals_the_reference(self):
        for model in TINY_MODELS:
            path = self.converted(model)
            for name, prompt in golden(model).items():
                with self.subTest(model=model, prompt=name):
                    got = self.logits(path, prompt["ids"], "--exact")
                    self.assertEqual(got["n_prompt"], len(prompt["ids"]))
                    worst = max(abs(a - b) for a, b in zip(got["all"], prompt["last_logits"], strict=True))
                    self.assertLessEqual(worst, 2e-4)
                    self.assertEqual(got["greedy"], prompt["greedy_ids"])
                    self.assertEqual(got["top"][0]["id"], prompt["greedy_ids"][0])
                    measured = self.mean_nll(path, prompt["ids"], "--exact")
                    self.assertEqual(measured["tokens"], len(prompt["ids"]) - 1)
                    self.assertLessEqual(abs(measured["nll_mean"] - prompt["mean_nll"]), 1e-4)

    def test_f16_and_bf16_hold_these_weights_exactly(self):
        for quant in ["f16", "bf16"]:
            path = self.converted("qwen3", quant)
            prompt = golden("qwen3")["p70"]
            got = self.logits(path, prompt["ids"], "--exact")
            worst = max(abs(a - b) for a, b in zip(got["all"], prompt["last_logits"], strict=True))
            self.assertLessEqual(worst, 2e-4)

    def test_q8_stays_within_one_percent(self):
        for model in TINY_MODELS:
            path = self.converted(model, "q8")
            for name, prompt in golden(model).items():
                with self.subTest(model=model, prompt=name):
                    measured = self.mean_nll(path, prompt["ids"])
                    self.assertLessEqual(abs(measured["nll_mean"] / prompt["mean_nll"] - 1), 0.01)

    def test_threads_and_kernels_change_nothing(self):
        path = self.converted("gemma3", "q8")
        ids = golden("gemma3")["p70"]["ids"]
        kernels = [word for word in self.ok("doctor", "--no-measure", "--json").json()["kernel_variants"].split(", ")
                   if "not here" not in word]
        self.assertIn("scalar", kernels)
        reference = self.logits(path, ids, "--threads", 1, "--kernels", "scalar")
        for name in kernels:
            for threads in [1, 2, 3]:
                self.assertEqual(self.logits(path, ids, "--threads", threads, "--kernels", name), reference)

    def test_the_trained_model_has_its_reference_perplexity(self):
        reference = json.loads((DATA / "base-model" / "golden.json").read_text())
        path = self.folder / "base.cmf"
        self.ok("convert", DATA / "base-model", "-o", path, "--quant", "bf16", "-q")
        for prompt in reference["prompts"]:
            encoded = self.ok("tokenize", path, prompt["text"], "--json").json()
            self.assertEqual(encoded["ids"], prompt["ids"])
            got = self.logits(path, prompt["ids"], "--exact")
            worst = max(abs(a - b) for a, b in zip(got["all"], prompt["logits"], strict=True))
            self.assertLessEqual(worst, 2e-4)


if __name__ == "__main__":
    harness.main()
