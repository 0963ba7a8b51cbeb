"""Help, versions, wrong usage, JSON and exit statuses, as docs/cli.md promises them."""

import json
import subprocess

import harness
from harness import DATA, run

VERBS = ["convert", "run", "info", "tensors", "verify", "tokenize", "detokenize", "render", "logits", "ppl", "bench", "doctor"]


class Usage(harness.CommandLineTest):
    def test_help_names_every_verb_and_every_verb_has_help_with_an_example(self):
        overview = self.ok("help").out.decode()
        for verb in VERBS:
            self.assertIn(verb, overview)
            text = self.ok(verb, "--help").out.decode()
            self.assertIn(f"Example: amphora {verb}", text)
            self.assertEqual(self.ok("help", verb).out.decode(), text)

    def test_ppl_refuses_ids_that_are_only_predicted_too(self):
        model = self.folder / "model.cmf"
        self.ok("convert", DATA / "base-model", "-o", model, "--quant", "q8")
        ids = self.folder / "ids"
        for last in ["4096", "99999999", "4294967295"]:
            ids.write_text(f"1 2 {last}")
            self.refused(2, "ppl", model, "--tokens-file", ids, words=["outside the vocabulary"])

    def test_ppl_writes_over_none_of_its_inputs(self):
        model, text = self.folder / "model.cmf", self.folder / "text"
        self.ok("convert", DATA / "base-model", "-o", model, "--quant", "q8")
        text.write_text("The old man said")
        self.refused(2, "ppl", model, text, "--imatrix-out", text, words=["being read"])
        self.refused(2, "ppl", model, text, "--imatrix-out", model, words=["being read"])
        self.refused(2, "ppl", model, text, "--compare", "", words=["no model given"])
        self.refused(3, "ppl", model, text, "--compare", self.folder / "absent")
        self.assertEqual(text.read_text(), "The old man said")

    def test_version(self):
        self.assertRegex(self.ok("--version").out.decode(), r"^amphora \d+\.\d+\.\d+\n$")

    def test_completion_knows_every_verb_and_its_options(self):
        for shell in ["bash", "zsh", "fish", "powershell"]:
            script = self.ok("completion", shell).out.decode()
            for word in VERBS + ["quant-rule", "chat-template"]:
                self.assertIn(word, script)
        script = self.ok("completion", "bash").out.decode()
        asked = script + "COMP_WORDS=(amphora conv); COMP_CWORD=1; _amphora; echo ${COMPREPLY[*]}\n"
        asked += "COMP_WORDS=(amphora convert --quant-); COMP_CWORD=2; _amphora; echo ${COMPREPLY[*]}\n"
        answer = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)
        self.assertEqual(answer.stdout, "convert\n--quant-rule\n", answer.stderr)
        self.refused(2, "completion", "tcsh", words=["tcsh"])

    def test_wrong_usage_is_one_line_and_status_2(self):
        tiny = DATA / "hf" / "tiny" / "llama"
        self.refused(2, "convrt", words=["did you mean 'convert'"])
        self.refused(2, "run")
        self.refused(2, "info", tiny, "--no-such-flag")
        self.refused(2, "convert", tiny, "-o", self.folder / "x.cmf", "--quant", "q9")
        self.refused(2, "run", tiny, "-p", "x", "--temp", "-1")
        self.refused(2, "logits", tiny, "--tokens", "1,x")
        self.refused(2, "logits", tiny, "--tokens", "1,512", words=["512"])
        self.refused(2, "logits", tiny, "--tokens", "1", "--threads", "0")
        self.refused(2, "logits", tiny, "--tokens", "1", "--kernels", "abacus", words=["abacus"])
        self.refused(2, "tokenize", tiny)
        self.assertEqual(run().status, 2)
        self.assertEqual(self.files(), [])

    def test_missing_files_are_status_3(self):
        missing = self.folder / "missing.cmf"
        for verb in ["info", "tensors", "verify"]:
            self.refused(3, verb, missing, words=["missing.cmf"])
        self.refused(3, "run", missing, "-p", "x")
        self.refused(3, "convert", missing, "-o", self.folder / "out.cmf")
        self.refused(3, "convert", DATA / "hf" / "tiny" / "llama", "-o", self.folder / "no" / "folder.cmf")

    def test_json_is_one_document_and_nothing_else(self):
        path = self.converted("llama", "q8")
        for arguments in [("info", path), ("tensors", path, "--stats", "--values", 2), ("verify", path),
                          ("tokenize", path, "hello"), ("detokenize", path, "5,6"), ("doctor", "--no-measure"),
                          ("logits", path, "--tokens", "1,2", "--top", 3),
                          ("bench", path, "--prompt", 4, "--gen", 2, "--repeat", 1, "--threads", "1,2")]:
            result = self.ok(*arguments, "--json")
            json.loads(result.out)
            self.assertEqual(result.err, b"", str(result))
            self.assertEqual(result.out.count(b"\n"), 1)

    def test_json_keys_that_scripts_rely_on(self):
        path = self.converted("llama", "q8")
        report = self.ok("verify", path, "--json").json()
        self.assertEqual(list(report), ["file", "format", "valid", "findings", "signature", "public_key"])
        self.assertEqual((report["format"], report["valid"], report["findings"], report["signature"]),
                         ("cmf", True, [], "absent"))
        rows = self.ok("tensors", path, "--json", "--values", 3, "--filter", "input_layernorm").json()
        self.assertEqual(len(rows), 3)
        self.assertEqual(list(rows[0]), ["name", "dtype", "shape", "off", "nbytes", "hash", "sum", "sumsq", "min", "max",
                                         "f32_hash64", "values"])
        self.assertRegex(rows[0]["hash"], "^[0-9a-f]{16}$")
        self.assertEqual((rows[0]["dtype"], rows[0]["shape"], len(rows[0]["values"])), ("f16", [64], 3))
        rows = self.ok("bench", path, "--prompt", 4, "--gen", 2, "--repeat", 3, "--threads", "1", "--json").json()
        self.assertEqual([(row["kind"], row["n"], row["threads"]) for row in rows], [("prefill", 4, 1), ("decode", 2, 1)])
        self.assertEqual(list(rows[0]), ["threads", "kind", "n", "tps_median", "tps_min", "tps_max", "gbps", "read_gbps", "share"])

    def test_a_reader_that_stops_early_is_no_fault(self):
        path = self.converted("llama", "q8")
        process = subprocess.Popen([harness.PROGRAM, "tensors", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        process.wait()

    def test_names_of_any_kind(self):
        for name in ["модель.cmf", "模型 🏺.cmf", "a b'c.cmf", "x" * 251 + ".cmf"]:
            path = self.folder / name
            self.ok("convert", DATA / "hf" / "tiny" / "llama", "-o", path, "--quant", "q8", "-q")
            self.ok("verify", path)
            self.assertEqual(self.ok("info", path, "--json").json()["file"], str(path))
            path.unlink()


if __name__ == "__main__":
    harness.main()
