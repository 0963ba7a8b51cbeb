"""tokenize, detokenize, render and run --chat-template: what users type by mistake, and files that are not what they seem."""

import json
import pathlib
import shutil

import harness
from harness import DATA

LLAMA = DATA / "hf" / "tiny" / "llama"
TOKENIZER = LLAMA / "tokenizer.json"


class Text(harness.CommandLineTest):
    def test_a_file_whose_stated_size_is_zero_is_read_to_its_end(self):
        text = pathlib.Path("/proc/version").read_bytes()
        wanted = self.ok("tokenize", TOKENIZER, "--file", "-", stdin=text).out
        self.assertGreater(wanted.count(b","), 10)
        self.assertEqual(self.ok("tokenize", TOKENIZER, "--file", "/proc/version").out, wanted)

    def test_an_error_while_reading_is_an_error(self):
        self.refused(3, "tokenize", TOKENIZER, "--file", "/proc/self/mem", words=["/proc/self/mem"])

    def test_ill_formed_text_is_noted(self):
        result = self.ok("tokenize", TOKENIZER, "--file", "-", stdin=b"a\xff")
        self.assertIn("not UTF-8", result.err.decode())
        replaced = self.ok("tokenize", TOKENIZER, "a\ufffd")
        self.assertEqual(result.out, replaced.out)
        self.assertEqual(replaced.err, b"")

    def test_a_comma_wants_an_id_on_either_side(self):
        wanted = self.ok("detokenize", TOKENIZER, "5,6,7").out
        for same in ["5, 6 7", "5 6\n7", " 5 ,6\t7 "]:
            self.assertEqual(self.ok("detokenize", TOKENIZER, same).out, wanted)
        for wrong in ["5,,6", ",5", "5,", "5 , , 6", ","]:
            self.refused(2, "detokenize", TOKENIZER, wrong, words=["missing"])

    def test_an_error_in_a_bare_tokenizer_names_the_file(self):
        for name, content, word in [("cut.json", TOKENIZER.read_bytes()[:-1], ""), ("wrong.json", b'{"version":"9"}', "version"),
                                    ("mark.json", b"\xef\xbb\xbf" + TOKENIZER.read_bytes(), "byte-order mark")]:
            path = self.folder / name
            path.write_bytes(content)
            self.refused(4 if name == "wrong.json" else 1, "tokenize", path, "x", words=[str(path), word])

    def test_an_absurdly_long_pattern_is_shown_in_part(self):
        tokenizer = json.loads(TOKENIZER.read_text())
        tokenizer["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": "x" * 40000 + "\\Q"}, "behavior": "Isolated", "invert": False}
        path = self.folder / "long.json"
        path.write_text(json.dumps(tokenizer))
        result = self.refused(4, "tokenize", path, "x", words=["regular expression 'xxx", "…"])
        self.assertLess(len(result.err), 2000)

    def test_an_empty_option_is_not_an_absent_one(self):
        model = self.converted("llama")
        self.refused(2, "run", model, "-p", "hi", "--chat-template", "", words=["--chat-template"])
        self.refused(2, "convert", LLAMA, "-o", self.folder / "x.cmf", "--assume-pretokenizer", "", words=["--assume-pretokenizer"])
        for arguments in [["convert", LLAMA], ["compact", model], ["shard", model, "--shard-max-gb", "1"], ["skill", "apply", model, model]]:
            self.refused(2, *arguments, "-o", "", words=["--output"])

    def test_render_takes_another_template(self):
        model = self.folder / "base.cmf"
        self.ok("convert", DATA / "base-model", "-o", model, "--quant", "q8")
        request = self.folder / "request.json"
        request.write_text('[{"role":"user","content":"Hi"}]')
        self.refused(4, "render", model, request, words=["--chat-template"])
        text = self.ok("render", model, request, "--chat-template", "chatml").out.decode()
        self.assertEqual(text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
        template = self.folder / "t.jinja"
        template.write_text("{{ bos_token }}{{ messages[0].content }}")
        self.assertEqual(self.ok("render", self.converted("llama"), request, "--chat-template", template).out.decode(), "<s>Hi")

    def test_a_render_request_says_which_keys_it_has(self):
        template, request = self.folder / "t.jinja", self.folder / "request.json"
        template.write_text("x")
        request.write_text('{"messages":[{"role":"user","content":"Hi"}],"documents":[]}')
        self.refused(2, "render", template, request, words=["$.documents", "variables"])
        request.write_text('[{"role":"user","content":"Hi"}]')
        self.refused(2, "render", template, request, "--var", "=5", words=["name=value"])

    def test_a_template_that_does_not_parse_says_what_can_be_done(self):
        folder = self.folder / "model"
        shutil.copytree(LLAMA, folder)
        (folder / "chat_template.jinja").write_text("{{ messages\n{% if %}")
        model = self.folder / "broken.cmf"
        self.ok("convert", folder, "-o", model, "--quant", "q8")
        result = self.refused(1, "run", model, "-p", "hi", "--max-tokens", "1", words=["line 2, column", "--raw", "--chat-template"])
        self.assertEqual(result.err.count(b"line 2, column"), 1)
        self.ok("run", model, "-p", "hi", "--raw", "--max-tokens", "1", "--quiet")


if __name__ == "__main__":
    harness.main()
