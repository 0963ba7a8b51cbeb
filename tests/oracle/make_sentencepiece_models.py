"""Trains the small SentencePiece models of tests/data/tokenizers/trained/spm_* and writes their goldens.

usage: make_sentencepiece_models.py [--goldens-only]     (needs sentencepiece==0.2.3; run from the repository's root)

NAME/spiece.model: trained on the texts of CPython's pydoc_data.topics and a few sentences, each for other settings.
NAME/golden.json: what the library answers, `encode`: [text, ids, decoded] and `decode`: [ids, text].
"""
import io
import json
import os
import random
import sys
import tempfile
import sentencepiece
from pydoc_data import topics
from sentencepiece import sentencepiece_model_pb2 as pb

OUT = "tests/data/tokenizers/trained/"
SENTENCES = ["Ein kleiner Vogel sa\u00df auf dem Zaun und sang.", "Le petit gar\u00e7on a trouv\u00e9 une cl\u00e9 rouill\u00e9e pr\u00e8s de l'\u00e9glise.",
             "\u041c\u0430\u043b\u0435\u043d\u044c\u043a\u0430\u044f \u043b\u043e\u0434\u043a\u0430 \u043c\u0435\u0434\u043b\u0435\u043d\u043d\u043e \u043f\u043b\u044b\u043b\u0430.", "\u5c0f\u3055\u306a\u8239\u304c\u3086\u3063\u304f\u308a\u3068\u5ddd\u3092\u4e0b\u308a", "a  b   c    d", "x = 1000; y == 2024", "------ ======"]
# Source and target of each rule, as character codes: more than one character on either side, and spaces.
RULES = "41\t61\nFB01\t66 69\n65 301\tE9\n65 301 323\t65\n3000\t20\nA0\t20\n9\t20\nA\t20\n200B\t\nAD\t\n2026\t2E 2E 2E\n2003\t20 20\n2581\t20\nBD\t31 2F 32\n212B\tC5\n21 21\t21\n"
SYMBOLS = ["<user>", "\u2581\u2581", "\u2581\u2581\u2581\u2581", "ing", "\n", "aa", "  ", "e\u0301"]
MODELS = {
    # as Llama 2: Hugging Face's components do the same
    "spm_bpe": dict(model_type="bpe", vocab_size=700, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True),
    "spm_bpe_symbols": dict(model_type="bpe", vocab_size=600, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False,
                            user_defined_symbols=SYMBOLS, split_by_number=False),
    "spm_bpe_sentences": dict(model_type="bpe", vocab_size=500, rules=True, split_by_whitespace=False, split_by_number=False, character_coverage=0.999),
    "spm_bpe_unused": dict(model_type="bpe", vocab_size=500, normalization_rule_name="identity", remove_extra_whitespaces=False, treat_whitespace_as_suffix=True, edit="unused"),
    "spm_unigram_suffix": dict(model_type="unigram", vocab_size=400, rules=True, treat_whitespace_as_suffix=True, user_defined_symbols=SYMBOLS, unk_surface="[?]", unk_id=3, bos_id=0, eos_id=1, pad_id=2,
                               control_symbols=["<mask>"]),
    "spm_unigram_bytes": dict(model_type="unigram", vocab_size=600, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, user_defined_symbols=["<user>", "aa"], split_by_unicode_script=False),
    "spm_unigram_ties": dict(model_type="unigram", vocab_size=300, normalization_rule_name="identity", edit="ties"),
    "spm_word": dict(model_type="word", vocab_size=300, rules=True, user_defined_symbols=["<user>"]),
    "spm_char": dict(model_type="char", vocab_size=120, normalization_rule_name="identity", user_defined_symbols=["<user>", "aa"], remove_extra_whitespaces=False),
}
TEXTS = ["", " ", "   ", "a", " a", "a ", "  lead  and trail  ", "Hello, world!", "<s>a</s> <unk> <pad><mask>", "<user>x <user> y", "\u2581", "\u2581\u2581\u2581 x\u2581y", "a\u2581 \u2581b", "tab\tand\nnew\r\nlines\n\n",
         "\u00a0nb\u3000wide\u2028line\u0085nel\u2003em", "caf\u00e9 e\u0301 e\u0301\u0323 \u212b \ufb01 \u00bd", "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\U0001f469\u200d\U0001f4bb ok", "aaaaaaa aa", "x = 1000; y == 2024", "------- ======= ",
         "the function returns a value of the given type", "  " * 9 + "x" + " " * 7, "<0x41><0x0A>", " \u2047 ", "ing ingaa ing", "A\u00adB\u200bC \u2026 !!! !!", "\ufffd\ufeff", "\u5c0f\u3055\u306a\u8239 \u043b\u043e\u0434\u043a\u0430",
         "aaaaab", "bingaaaaaaab", "x\u1100aaaaaaaaaaaaab", "a" * 33, "=" * 23, "- " * 9]
ALPHABET = list("aaeinrst  \u2581=-1") + ["<user>", "<s>", "  ", "\n", "\u00e9", "e\u0301", "\u3000", "\ufb01", "ing", "\u4f60", "\u0301", "\U0001f600", "the ", "function", "\u200b"]


def train(name, folder):
    options = dict(MODELS[name])
    edit = options.pop("edit", None)
    if options.pop("rules", False):
        options["normalization_rule_tsv"] = os.path.join(folder, "rules.tsv")
        with open(options["normalization_rule_tsv"], "w") as f:
            f.write(RULES)
    lines = [line for key in sorted(topics.topics) for line in topics.topics[key].split("\n") if line.strip()][:2500] + SENTENCES * 30
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=written, num_threads=1, minloglevel=2, hard_vocab_limit=False, **options)
    model = pb.ModelProto()
    model.ParseFromString(written.getvalue())
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    if edit == "ties":
        model.normalizer_spec.escape_whitespaces = False  # the trainer refuses it
    rng = random.Random(name)
    for piece in model.pieces:
        if piece.type != pb.ModelProto.SentencePiece.NORMAL or len(piece.piece) < 2:
            continue
        if edit == "unused" and rng.random() < 0.3:
            piece.type = pb.ModelProto.SentencePiece.UNUSED
        if edit == "unused":
            piece.score = round(piece.score / 4) * 4  # ties
        if edit == "ties":
            piece.score = round(piece.score * 2) / 2
    return model.SerializeToString()


def goldens(path):
    library = sentencepiece.SentencePieceProcessor(model_file=path)
    rng = random.Random(path)
    texts = TEXTS + ["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 24))) for _ in range(60)]
    encode = [[text, library.encode(text), library.decode(library.encode(text))] for text in texts]
    shown = [i for i in range(library.get_piece_size()) if not library.is_control(i)]  # transformers skips the others
    sequences = [[shown[rng.randrange(min(len(shown), rng.choice([8, 262, 1000])))] for _ in range(rng.randrange(1, 9))] for _ in range(40)]
    decode = [[ids, library.decode(ids)] for ids in sequences]
    return "{\"encode\":[\n" + ",\n".join(json.dumps(line) for line in encode) + "\n],\"decode\":[\n" + ",\n".join(json.dumps(line) for line in decode) + "\n]}\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            os.makedirs(OUT + name, exist_ok=True)
            path = OUT + name + "/spiece.model"
            if "--goldens-only" not in sys.argv[1:]:
                with open(path, "wb") as f:
                    f.write(train(name, folder))
            with open(OUT + name + "/golden.json", "w") as f:
                f.write(goldens(path))
            print("%s: %d bytes" % (path, os.path.getsize(path)))


main()
