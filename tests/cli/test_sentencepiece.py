"""SentencePiece models: bare ones, and in a directory that has no tokenizer.json."""

import json
import shutil

import harness
from harness import DATA, CommandLineTest

TRAINED = DATA / "tokenizers" / "trained"


class SentencePiece(CommandLineTest):
    def golden(self):
        return json.loads((TRAINED / "unigram_t5" / "golden_spiece.json").read_text())

    def directory(self, model, name, **config):
        """A tiny model with another tokenizer."""
        folder = self.folder / "model"
        shutil.copytree(DATA / "hf" / "tiny" / "llama", folder)
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        shutil.copy(model, folder / name)
        return folder

    def test_a_bare_model_encodes_and_decodes_as_the_library(self):
        model = TRAINED / "unigram_t5" / "spiece.model"
        for case in self.golden()[3:20:4]:
            ids = self.ok("tokenize", model, "--json", "--file", "-", stdin=case["text"].encode()).json()["ids"]
            self.assertEqual(ids, case["ids"], case["text"])
        self.assertEqual(self.ok("detokenize", model, "22,3,1970").out.decode(), "The quick\n")
        cut = self.folder / "cut.model"
        cut.write_bytes(model.read_bytes()[:5000])
        self.refused(1, "tokenize", cut, "x", words=["model"])

    def test_a_directory_is_converted_with_a_note(self):
        folder = self.directory(TRAINED / "unigram_t5" / "spiece.model", "spiece.model", tokenizer_class="T5Tokenizer", extra_ids=4)
        out = self.folder / "out.cmf"
        run = self.ok("convert", folder, "-o", out, "--quant", "f32")
        self.assertIn("spiece.model (SentencePiece, unigram, 2500 pieces) became a tokenizer.json", run.err.decode())
        for case in self.golden()[3:20:8]:
            self.assertEqual(self.ok("tokenize", out, "--no-special", "--json", "--file", "-", stdin=case["text"].encode()).json()["ids"], case["ids"])
        self.assertEqual(self.ok("tokenize", out, "hello world <extra_id_0>", "--parse-special").out.decode().strip(), "3,570,1147,86,2281,2503,1")

    def test_a_class_that_numbers_pieces_anew_is_refused_by_name(self):
        folder = self.directory(TRAINED / "spm_bpe" / "spiece.model", "sentencepiece.bpe.model", tokenizer_class="XLMRobertaTokenizer")
        self.refused(4, "convert", folder, "-o", self.folder / "out.cmf", words=["XLMRobertaTokenizer"])


if __name__ == "__main__":
    harness.main()
