"""What speculation gains where guesses are right and costs where they are wrong: decode speed against plain decoding, same
program, same prompts, in turn (standard library only).

Rows: the trained predictor of tests/data/mtp on its base, a random predictor (every guess is wrong), and n-gram guesses of a
MODEL on a text that repeats and on one that does not. The texts must be equal with and without.
"""

import argparse
import json
import math
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data"
REPEATING = "red, green, blue, white; " * 12
PLAIN = "Once upon a time, in a small house by the sea, there lived"


def tensors_of(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size)), file.read()


def write_tensors(path, header, payload):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + payload)


def random_bf16(count):
    """Values of about ±0.02, as bytes."""
    source = random.Random(count)
    signs = bytes(0x3C | (byte & 0x80) for byte in range(256))
    values = bytearray(2 * count)
    values[0::2], values[1::2] = source.randbytes(count), source.randbytes(count).translate(signs)
    return bytes(values)


def write_folder(folder, config, parts):
    """A Hugging Face folder with the base model's tokenizer and `parts`, (header, payload) of each weight file."""
    folder.mkdir()
    config["mtp"] = {"num_layers": 1, "hidden_normed": False}
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (folder / name).write_bytes((DATA / "base-model" / name).read_bytes())
    files = {}
    for number, (header, payload) in enumerate(parts, 1):
        name = f"model-{number:05}-of-{len(parts):05}.safetensors"
        write_tensors(folder / name, header, payload)
        files.update({tensor: name for tensor in header if tensor != "__metadata__"})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    return folder


def trained(folder):
    base = DATA / "base-model"
    return write_folder(folder, json.loads((base / "config.json").read_text()),
                        [tensors_of(base / "model.safetensors"), tensors_of(DATA / "mtp/mtp.safetensors")])


def random_model(folder):
    """Shaped like the base model and its predictor, but four times as wide and twice as deep, with random weights."""
    base = DATA / "base-model"
    config = json.loads((base / "config.json").read_text())
    hidden = config["hidden_size"]
    wide = {hidden: 4 * hidden, 2 * hidden: 8 * hidden, config["intermediate_size"]: 4 * config["intermediate_size"],
            config["num_key_value_heads"] * config["head_dim"]: 4 * config["num_key_value_heads"] * config["head_dim"]}
    layers = config["num_hidden_layers"]
    for key in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads"):
        config[key] *= 4
    config["num_hidden_layers"] = 2 * layers
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"] * 2
    shapes = {}
    for path in (base / "model.safetensors", DATA / "mtp/mtp.safetensors"):
        for name, tensor in tensors_of(path)[0].items():
            if name == "__metadata__":
                continue
            shape = tensor["shape"] if "_norm.weight" in name and "self_attn" in name else [wide.get(n, n) for n in tensor["shape"]]
            shapes[name] = shape
            part = name.split(".")
            if name.startswith("model.layers."):
                shapes[".".join(part[:2] + [str(int(part[2]) + layers)] + part[3:])] = shape
    header, pieces, end = {}, [], 0
    for name, shape in shapes.items():
        piece = random_bf16(math.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + len(piece)]}
        pieces.append(piece)
        end += len(piece)
    return write_folder(folder, config, [(header, b"".join(pieces))])


def generate(arguments, model, prompt, speculation):
    done = subprocess.run([arguments.amphora, "run", model, "--raw", "-p", prompt, "--max-tokens", str(arguments.tokens), "--ignore-eos",
                           "--json", "--threads", str(arguments.threads), "--speculative", speculation],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(arguments, model, prompt, speculation):
    """Runs with and without, in turn: tok/s of every round, how many were guessed and right, and whether all texts agree."""
    plain, guessed = [], []
    for _ in range(arguments.rounds):
        plain.append(generate(arguments, model, prompt, "off"))
        guessed.append(generate(arguments, model, prompt, speculation))
    return {"guessed": [run["decode_tps"] for run in guessed], "plain": [run["decode_tps"] for run in plain],
            "drafted": guessed[-1]["drafted"], "accepted": guessed[-1]["accepted"],
            "same_text": len({run["text"] for run in plain + guessed}) == 1}


def random_q8(arguments, work):
    """The random model, converted."""
    path = work / "random.cmf"
    subprocess.run([arguments.amphora, "convert", random_model(work / "random"), "-o", path, "--quiet"], check=True)
    return path


def print_row(name, found):
    a, b = statistics.median(found["guessed"]), statistics.median(found["plain"])
    ratios = sorted(g / p for g, p in zip(found["guessed"], found["plain"]))
    print(f"{name:<44}{found['drafted']:>8}{found['accepted']:>9}{a:>10.1f}{b:>10.1f}{a / b:>7.2f}{ratios[0]:>8.2f} – {ratios[-1]:.2f}",
          flush=True)
    if not found["same_text"]:
        sys.exit(f"speculation: {name}: the text differs between runs with and without")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--amphora", default=ROOT / "build/release/amphora")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("models", nargs="*", help="for n-gram guesses")
    arguments = parser.parse_args()
    print(f"{'what':<44}{'drafted':>8}{'accepted':>9}{'tok/s':>10}{'plain':>10}{'ratio':>7}   ratio of pairs   medians of {arguments.rounds}")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        print_row("trained predictor of a small model", compare(arguments, trained(work / "trained"), PLAIN, "mtp"))
        wide = random_q8(arguments, work)
        print_row(f"random predictor and model, {wide.stat().st_size / 1e6:.0f} MB", compare(arguments, wide, PLAIN, "mtp"))
    for model in arguments.models:
        name = pathlib.Path(model).stem
        print_row(f"{name}, n-gram, text that repeats", compare(arguments, model, REPEATING, "ngram"))
        print_row(f"{name}, n-gram, text that does not", compare(arguments, model, PLAIN, "ngram"))


if __name__ == "__main__":
    main()
