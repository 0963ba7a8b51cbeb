"""Conversions of sources whose tokenizer is not a tokenizer.json that is known: notes, refusals, --assume-pretokenizer."""

import json
import shutil
import struct

import harness
from harness import DATA, CommandLineTest

SOURCES = DATA / "tokenizers" / "sources"
UNKNOWN = {"type": "Split", "pattern": {"Regex": "[a-z&&[^b]]+"}, "behavior": "Isolated", "invert": False}


def header_of(path):
    """The JSON header of a .cmf file."""
    data = path.read_bytes()
    start = data.index(b'{"format"')
    return json.JSONDecoder().raw_decode(data[start:].decode(errors="replace"))[0]


class TokenizerSources(CommandLineTest):
    def model(self, base="llama", **files):
        """A copy of a tiny model with other files for its tokenizer; None removes one."""
        folder = self.folder / "model"
        shutil.copytree(DATA / "hf" / "tiny" / base, folder)
        for name, content in files.items():
            path = folder / name.replace("__", ".")
            if content is None:
                path.unlink()
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(json.dumps(content))
        return folder

    def own_tokenizer(self, **changes):
        tokenizer = json.loads((DATA / "hf" / "tiny" / "llama" / "tokenizer.json").read_text())
        tokenizer.update(changes)
        return tokenizer

    def test_vocabulary_and_merges_become_a_tokenizer(self):
        model = self.model(tokenizer__json=None, vocab__json=(SOURCES / "byte_level" / "vocab.json").read_bytes(),
                           merges__txt=(SOURCES / "byte_level" / "merges.txt").read_bytes(), tokenizer_config__json={"tokenizer_class": "GPT2Tokenizer"})
        out = self.folder / "out.cmf"
        run = self.ok("convert", model, "-o", out, "--quant", "f32")
        self.assertIn("vocab.json and merges.txt became a tokenizer.json as GPT2Tokenizer reads them", run.err.decode())
        wanted = dict(json.loads((SOURCES / "cases.jsonl").read_text().split("\n")[0])["texts"])["Hello world"]
        self.assertEqual(json.loads(self.ok("tokenize", out, "Hello world", "--json").out)["ids"], wanted)

    def test_an_unknown_class_is_refused_until_someone_says_how_text_is_cut(self):
        model = self.model("qwen3", tokenizer__json=None, tiktoken__model=(SOURCES / "ranks" / "small.tiktoken").read_bytes(), tokenizer_config__json={"tokenizer_class": "SomeTokenizer"})
        out = self.folder / "out.cmf"
        self.refused(4, "convert", model, "-o", out, words=["SomeTokenizer", "--assume-pretokenizer NAME", "llama-bpe", "gpt-4o"])
        self.assertFalse(out.exists())
        run = self.ok("convert", model, "-o", out, "--quant", "f32", "--assume-pretokenizer", "gpt-2")
        self.assertIn("ASSUMED: the pre-tokenizer is gpt-2", run.err.decode())
        self.assertEqual(header_of(out)["provenance"]["assumed_pre_tokenizer"], "gpt-2")
        case = next(case for case in map(json.loads, (SOURCES / "cases.jsonl").read_text().split("\n")[:-1]) if case["name"] == "assumed gpt-2")
        for text, ids in case["texts"][:10]:
            if text:
                self.assertEqual(json.loads(self.ok("tokenize", out, text, "--json").out)["ids"], ids, text)
        again = self.folder / "again.cmf"  # what was assumed once stays written
        self.ok("convert", out, "-o", again, "--quant", "f32")
        self.assertEqual(header_of(again)["provenance"]["assumed_pre_tokenizer"], "gpt-2")

    def test_an_unknown_pattern_is_printed_and_can_be_replaced(self):
        model = self.model(tokenizer__json=self.own_tokenizer(pre_tokenizer=UNKNOWN))
        out = self.folder / "out.cmf"
        self.refused(4, "convert", model, "-o", out, words=["[a-z&&[^b]]+", "'&&' in a bracket", "--assume-pretokenizer NAME"])
        self.refused(4, "convert", model, "--dry-run", words=["[a-z&&[^b]]+"])
        run = self.ok("convert", model, "-o", out, "--quant", "f32", "--assume-pretokenizer", "smollm")
        self.assertIn("ASSUMED: the pre-tokenizer is smollm", run.err.decode())
        self.assertEqual(header_of(out)["provenance"]["assumed_pre_tokenizer"], "smollm")

    def test_an_unknown_component_is_named(self):
        model = self.model(tokenizer__json=self.own_tokenizer(pre_tokenizer={"type": "Novel"}))
        self.refused(4, "convert", model, "-o", self.folder / "out.cmf", words=["pre-tokenizer 'Novel' is not supported", "--assume-pretokenizer NAME"])

    def test_an_unknown_name_lists_the_known_ones(self):
        self.refused(2, "convert", DATA / "hf" / "tiny" / "llama", "-o", self.folder / "out.cmf", "--assume-pretokenizer", "llama-9",
                     words=["llama-9", "qwen2, llama-bpe, llama3, llama-v3, smollm, gpt-2, default, gpt-4o, kimi-k2"])

    def test_nothing_is_assumed_where_the_source_says_it(self):
        out = self.folder / "out.cmf"
        for source in [DATA / "hf" / "tiny" / "llama", DATA / "gguf" / "qwen2_q8_0.gguf", self.converted("llama")]:
            self.refused(2, "convert", source, "-o", out, "--assume-pretokenizer", "gpt-2", words=["there is nothing to assume"])
            self.assertFalse(out.exists())

    def test_gguf_of_an_unknown_pre_tokenizer(self):
        data = (DATA / "gguf" / "qwen2_q8_0.gguf").read_bytes()
        name = struct.pack("<Q", len("tokenizer.ggml.pre")) + b"tokenizer.ggml.pre" + struct.pack("<I", 8)
        value = struct.pack("<Q", len("qwen2")) + b"qwen2"
        self.assertEqual(data.count(name + value), 1)
        source = self.folder / "novel.gguf"
        source.write_bytes(data.replace(name + value, name + value[:-1] + b"9"))
        out, whole = self.folder / "out.cmf", self.folder / "whole.cmf"
        self.refused(4, "convert", source, "-o", out, words=['"qwen9"', "--assume-pretokenizer NAME", "qwen2"])
        run = self.ok("convert", source, "-o", out, "--quant", "f32", "--assume-pretokenizer", "qwen2")
        self.assertIn("ASSUMED: the pre-tokenizer is qwen2", run.err.decode())
        self.ok("convert", DATA / "gguf" / "qwen2_q8_0.gguf", "-o", whole, "--quant", "f32")
        text = "don't  1234\n\nx"
        self.assertEqual(self.ok("tokenize", out, text, "--json").out, self.ok("tokenize", whole, text, "--json").out)

    def test_truncation_and_padding_are_noted(self):
        truncation = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
        padding = {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
        model = self.model(tokenizer__json=self.own_tokenizer(truncation=truncation, padding=padding))
        out = self.folder / "out.cmf"
        notes = json.loads(self.ok("convert", model, "-o", out, "--quant", "f32", "--json").out)["notes"]
        self.assertIn("tokenizer.json has a truncation block, which is ignored: amphora never cuts ids", notes)
        self.assertIn("tokenizer.json has a padding block, which is ignored: amphora never pads ids", notes)
        text = "a longer text than three tokens"
        self.assertEqual(self.ok("tokenize", out, text, "--json").out, self.ok("tokenize", self.converted("llama"), text, "--json").out)


if __name__ == "__main__":
    harness.main()
