"""Writes tests/data/tokenizers/sources/: directories of tokenizers without a tokenizer.json, and the ids that the
reference gives for them.

usage: make_tokenizer_sources.py [--train] [--differential TOKENIZE_LINES FIND_TOKENIZER --count N]

cases.jsonl has a line for each directory: its files (by the folder they lie in, or as JSON) and [text, ids] pairs. Those
of vocab.json and merges.txt are what AutoTokenizer gives, those of tiktoken files what tiktoken gives. --train makes the
vocabularies anew, on this project's own documentation and a few sentences. --differential compares random texts instead
of writing: FIND_TOKENIZER is the program of that name (target find_tokenizer), which writes the tokenizer.json of a
directory. Needs transformers==5.24.0, tokenizers==0.23.3, tiktoken==0.14.0.
"""
import argparse
import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unicodedata

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import tiktoken
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer

OUT = "tests/data/tokenizers/sources/"
SENTENCES = ["Straße, naïveté, façade und Übermut; señor, ¿qué tal? Ça va bien.", "Привет, мир! Как дела сегодня?", "你好，世界。今天天气很好。", "こんにちは、世界。", "안녕하세요 세계", "مرحبا بالعالم",
             "e\u0301 u\u0308 a\u030a", "don't I'M we'll they've 1234567 3.14", "    if (x == 0) {\n\t\treturn;\r\n\n    }", "HELLO World helloWorld HTTPServer"]
END = "<|endoftext|>"


def special(content, **properties):
    return dict({"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}, **properties)


# name, folder of the vocabulary, config.json, the other files
VOCABULARY_CASES = [
    ("GPT2Tokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}}),
    ("GPT2TokenizerFast with BOS and prefix", "byte_level", {},
     {"tokenizer_config.json": {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True, "add_bos_token": True, "add_eos_token": True, "bos_token": "<s>", "eos_token": "</s>"}}),
    ("GPT2Tokenizer by the model's type", "byte_level", {"model_type": "gpt2"}, {}),
    ("GPT2Tokenizer by config.json", "byte_level", {"tokenizer_class": "GPT2Tokenizer"}, {"tokenizer_config.json": {"model_max_length": 12}}),
    ("GPT2Tokenizer with the older files", "byte_level", {},
     {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}, "added_tokens.json": {"<new>": 602, "plain word": 600, "<sep2>": 601},
      "special_tokens_map.json": {"bos_token": special("<s>"), "sep_token": "<sep2>", "additional_special_tokens": ["<new>"], "image_token": "<image>"}}),
    ("GPT2Tokenizer with named tokens", "byte_level", {},
     {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "image_token": "<image>", "extra_special_tokens": ["<|extra|>", "<more>"], "pad_token": None, "unk_token": None}}),
    ("Qwen2Tokenizer", "byte_level", {"model_type": "qwen2"},
     {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": False, "eos_token": "<|im_end|>", "pad_token": END, "bos_token": None, "unk_token": None, "errors": "replace",
                                "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
                                "added_tokens_decoder": {"5": special(END), "600": special("<|im_start|>"), "601": special("<|im_end|>", lstrip=True), "602": special("<tool_call>", special=False)}}}),
    ("Qwen2Tokenizer whatever the class", "byte_level", {"model_type": "qwen2"}, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}}),
    ("Qwen2Tokenizer by the model's type", "byte_level", {"model_type": "qwen3"}, {}),
    ("Qwen3_5Tokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "Qwen3_5Tokenizer"}}),
    ("RobertaTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer"}}),
    ("RobertaTokenizer with properties", "byte_level", {},
     {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True, "added_tokens_decoder": {"0": special("<s>", normalized=True), "4": special("<mask>", lstrip=True)}, "mask_token": "<mask>"}}),
    ("BartTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "BartTokenizer"}}),
    ("LEDTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "LEDTokenizer"}}),
    ("LongformerTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "LongformerTokenizer"}}),
    ("MvpTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "MvpTokenizer"}}),
    ("CodeGenTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "CodeGenTokenizer"}}),
    ("CodeGenTokenizer with BOS", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "CodeGenTokenizer", "add_bos_token": True}}),
    ("GPTNeoXTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "GPTNeoXTokenizer", "add_eos_token": True}}),
    ("CLIPTokenizer", "word_end", {}, {"tokenizer_config.json": {"tokenizer_class": "CLIPTokenizer"}}),
    ("DebertaTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "DebertaTokenizer"}}),
    ("CohereTokenizer", "byte_level", {}, {"tokenizer_config.json": {"tokenizer_class": "CohereTokenizer", "add_bos_token": True}}),
    ("OpenAIGPTTokenizer", "words", {}, {"tokenizer_config.json": {"tokenizer_class": "OpenAIGPTTokenizer"}}),
    ("HerbertTokenizer", "words", {}, {"tokenizer_config.json": {"tokenizer_class": "HerbertTokenizer"}}),
]

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
QWEN = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
O200K = "|".join([r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?",
                  r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + "?", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
KIMI = "|".join([r"[\p{Han}]+", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+" + CONTRACTIONS + "?",
                 r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*" + CONTRACTIONS + "?", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+",
                 r"\s+(?!\S)", r"\s+"])
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN_TOKENS = [END, "<|im_start|>", "<|im_end|>"] + ["<|extra_%d|>" % i for i in range(205)]

# name, the file's name, config.json, the other files, the name to assume, pattern, special tokens behind the ranks, NFC
RANK_CASES = [
    ("QWenTokenizer", "qwen.tiktoken", {}, {"tokenizer_config.json": {"tokenizer_class": "QWenTokenizer"}}, None, QWEN, QWEN_TOKENS, True),
    ("qwen.tiktoken by its name", "qwen.tiktoken", {}, {}, None, QWEN, QWEN_TOKENS, True),
    ("Llama 3", "tokenizer.model", {"model_type": "llama"},
     {"tokenizer_config.json": {"bos_token": "<|begin_of_text|>", "add_bos_token": True, "added_tokens_decoder": {"600": special("<|begin_of_text|>"), "603": special("<|eot_id|>")}}}, None, LLAMA3,
     ["<|begin_of_text|>", "<|reserved_token_601|>", "<|reserved_token_602|>", "<|eot_id|>"], False),
    ("Kimi", "tiktoken.model", {"model_type": "kimi_k2"}, {"tokenizer_config.json": {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"600": special("[BOS]")}}}, None, KIMI, ["[BOS]"], False),
    ("cl100k", "cl100k_base.tiktoken", {}, {}, None, CL100K, [], False),
    ("o200k", "o200k_base.tiktoken", {}, {}, None, O200K, [], False),
    ("assumed gpt-2", "tiktoken.model", {}, {"tokenizer_config.json": {"tokenizer_class": "SomeTokenizer"}}, "gpt-2", GPT2, [], False),
    ("assumed llama-bpe", "some.tiktoken", {}, {}, "llama-bpe", LLAMA3, [], False),
]


def training_texts():
    texts = list(SENTENCES)
    for path in ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/cli.md", "docs/numerics.md"]:
        with open(path) as f:
            texts.append(f.read())
    return texts


def train(folder, tokenizer, **options):
    tokenizer.train_from_iterator(training_texts(), trainers.BpeTrainer(vocab_size=600, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>", END, "<|startoftext|>"], show_progress=False, **options))
    os.makedirs(OUT + folder, exist_ok=True)
    tokenizer.model.save(OUT + folder)


def train_all():
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    train("byte_level", tokenizer, initial_alphabet=alphabet)
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    train("word_end", tokenizer, initial_alphabet=alphabet, end_of_word_suffix="</w>")
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    train("words", tokenizer, end_of_word_suffix="</w>")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(training_texts(), trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False))
    byte_of = {character: byte for byte, character in transformers.convert_slow_tokenizer.bytes_to_unicode().items()}
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [token for token, _ in sorted(((bytes(byte_of[c] for c in piece), rank) for piece, rank in tokenizer.get_vocab().items()), key=lambda pair: pair[1]) if len(token) > 1]
    os.makedirs(OUT + "ranks", exist_ok=True)
    with open(OUT + "ranks/small.tiktoken", "wb") as f:
        for rank, token in enumerate(tokens):
            f.write(base64.b64encode(token) + b" %d\n" % rank)


def ranks():
    with open(OUT + "ranks/small.tiktoken") as f:
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in f)}


def write_files(folder, config, files):
    config = dict({"architectures": ["LlamaForCausalLM"]}, **config)
    for name, value in dict({"config.json": config}, **files).items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(value, f)


def vocabulary_reference(folder, case):
    name, vocabulary, config, files = case
    for file in os.listdir(OUT + vocabulary):
        shutil.copy(os.path.join(OUT, vocabulary, file), folder)
    write_files(folder, dict({"model_type": "llama"}, **config), files)
    if name == "Qwen3_5Tokenizer":  # AutoTokenizer gives it an empty vocabulary
        tokenizer = transformers.Qwen3_5Tokenizer(vocab=folder + "/vocab.json", merges=folder + "/merges.txt")
    else:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    return lambda text: tokenizer(text)["input_ids"]


def rank_reference(folder, case):
    name, file, config, files, assumed, pattern, tokens, nfc = case
    shutil.copy(OUT + "ranks/small.tiktoken", os.path.join(folder, file))
    write_files(folder, config, files)
    table = ranks()
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=table, special_tokens={token: len(table) + i for i, token in enumerate(tokens)})
    first = [len(table)] if name == "Llama 3" else []
    return lambda text: first + encoding.encode(unicodedata.normalize("NFC", text) if nfc else text, allowed_special="all", disallowed_special=())


def texts(rng, count):
    sys.path.insert(0, os.path.dirname(__file__))
    from differential_tokenizers import text
    tokens = ["<s>", "</s>", "<mask>", " <mask> ", "<unk>", END, "<|im_start|>", " <|im_end|>", "<|startoftext|>", "<new>", "plain word", "<image>", "<|extra|>", "<|begin_of_text|>", "<|eot_id|>", "<tool_call>", "[CLS]", "[BOS]", "<|extra_7|>"]
    return [text(rng, tokens) for _ in range(count)]


def all_cases():
    for case in VOCABULARY_CASES:
        yield case[0], case, vocabulary_reference, {"vocabulary": case[1], "config": case[2], "files": case[3]}
    for case in RANK_CASES:
        yield case[0], case, rank_reference, {"ranks": case[1], "config": case[2], "files": case[3], "assume": case[4]}


def write_cases():
    rng = random.Random(7)
    fixed = SENTENCES + ["", " ", "Hello world", " Hello  world \n\n", "a <mask> b <mask>", "x<|im_start|>user<|im_end|> y", "plain word<new><image><sep2>", "<|begin_of_text|><|eot_id|>[BOS]<|extra_7|><tool_call>", "漢字kanji漢字", "<s>hi</s>"]
    with open(OUT + "cases.jsonl", "w") as out:
        for name, case, reference, line in all_cases():
            with tempfile.TemporaryDirectory() as folder:
                encode = reference(folder, case)
                line = dict({"name": name}, **line)
                line["texts"] = [[t, encode(t)] for t in fixed + texts(rng, 30)]
                out.write(json.dumps(line, ensure_ascii=False) + "\n")


def differential(lines_program, find_program, count):
    differences = 0
    for name, case, reference, line in all_cases():
        with tempfile.TemporaryDirectory() as folder:
            encode = reference(folder, case)
            path = os.path.join(folder, "found.json")
            with open(path, "wb") as out:
                subprocess.run([find_program, folder] + ([line["assume"]] if line.get("assume") else []), stdout=out, check=True)
            strings = texts(random.Random("differential " + name), count)
            requests = json.dumps(path) + "\n" + "".join(json.dumps([s]) + "\n" for s in strings)
            answers = subprocess.run([lines_program], input=requests.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[:-1]
            wrong = 0
            for string, answer in zip(strings, answers[1:], strict=True):
                wanted, found = encode(string), json.loads(answer)
                if found[0] != wanted if isinstance(found, list) else True:
                    wrong += 1
                    if wrong <= 3:
                        print("%s: %r\n  wanted %s\n  found  %s" % (name, string, wanted, found))
            print("%s: %d of %d texts differ" % (name, wrong, count), flush=True)
            differences += wrong
    return differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--differential", nargs=2)
    parser.add_argument("--count", type=int, default=20000)
    arguments = parser.parse_args()
    if arguments.train:
        train_all()
    if arguments.differential:
        sys.exit(differential(*arguments.differential, arguments.count) != 0)
    write_cases()


if __name__ == "__main__":
    main()
