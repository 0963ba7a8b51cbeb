"""Measures `amphora verify` on a synthetic model, type by type (standard library only): GB per second of processor time and of
wall time, file in the page cache, peak resident memory, and that a limit on address space of the file + 256 MiB is enough."""

import argparse
import json
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time

TINY = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "hf" / "tiny" / "llama"
HIDDEN, INTERMEDIATE, VOCABULARY = 2048, 8192, 512
LIMIT_BEYOND_FILE = 256 << 20


def bf16_weights(count, numbers):
    """Random weights between 2^-7 and 2^-3 in magnitude, as bf16 bytes."""
    exponents = bytes((0x3C + (i & 1)) | (i & 0x80) for i in range(256))
    weights = bytearray(numbers.randbytes(2 * count))
    weights[1::2] = weights[1::2].translate(exponents)
    return weights


def write_model(folder, layers):
    """A llama of `layers` layers of 67 million weights."""
    config = json.loads((TINY / "config.json").read_text())
    config.update(hidden_size=HIDDEN, intermediate_size=INTERMEDIATE, num_hidden_layers=layers, num_attention_heads=16,
                  num_key_value_heads=16, head_dim=128, vocab_size=VOCABULARY, dtype="bfloat16")
    (folder / "config.json").write_text(json.dumps(config))
    for name in ["tokenizer.json", "tokenizer_config.json", "generation_config.json"]:
        (folder / name).write_bytes((TINY / name).read_bytes())
    shapes = {"model.embed_tokens.weight": [VOCABULARY, HIDDEN], "lm_head.weight": [VOCABULARY, HIDDEN],
              "model.norm.weight": [HIDDEN]}
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        for name in ["input_layernorm", "post_attention_layernorm"]:
            shapes[f"{prefix}{name}.weight"] = [HIDDEN]
        for name in ["q_proj", "k_proj", "v_proj", "o_proj"]:
            shapes[f"{prefix}self_attn.{name}.weight"] = [HIDDEN, HIDDEN]
        shapes[f"{prefix}mlp.down_proj.weight"] = [HIDDEN, INTERMEDIATE]
        for name in ["gate_proj", "up_proj"]:
            shapes[f"{prefix}mlp.{name}.weight"] = [INTERMEDIATE, HIDDEN]
    header, at = {}, 0
    counts = [shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in shapes.values()]
    for (name, shape), count in zip(shapes.items(), counts):
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + 2 * count]}
        at += 2 * count
    text = json.dumps(header).encode()
    numbers = random.Random(1)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for count in counts:
            file.write(bf16_weights(count, numbers))


def measure(command, limit):
    """Processor seconds, wall seconds and peak resident bytes of one run; ends the program if it fails."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"verify: {' '.join(map(str, command))} ended with status {process.returncode}\n{output.decode()}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024


def report(what, amphora, path, rounds):
    size = path.stat().st_size
    runs = [measure([amphora, "verify", str(path), "-q"], size + LIMIT_BEYOND_FILE) for _ in range(rounds)]
    cpu, wall, resident = (min(run[i] for run in runs) for i in range(3))
    print(f"| {what} | {size / 1e6:.0f} | {size / cpu / 1e9:.2f} | {size / wall / 1e9:.2f} | {resident / 1e6:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amphora", default="build/release/amphora")
    parser.add_argument("--quant", default="f16,q8,q4t,q4,q8_2f", help="targets of `amphora convert`")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where the files go for the time of the run")
    arguments = parser.parse_args()
    print("| type | MB | GB/s of processor time | GB/s | peak resident MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = pathlib.Path(name)
        (folder / "hf").mkdir()
        write_model(folder / "hf", arguments.layers)
        key = folder / "key"
        subprocess.run([arguments.amphora, "keygen", str(key), "-q"], check=True, stdout=subprocess.DEVNULL)
        for quant in arguments.quant.split(","):
            path = folder / f"{quant}.cmf"
            subprocess.run([arguments.amphora, "convert", str(folder / "hf"), "-o", str(path), "--quant", quant, "-q"],
                           check=True, stdout=subprocess.DEVNULL)
            report(quant, arguments.amphora, path, arguments.rounds)
            subprocess.run([arguments.amphora, "sign", str(path), "--key", str(key), "-q"], check=True)
            report(f"{quant}, signed", arguments.amphora, path, arguments.rounds)
            path.unlink()


if __name__ == "__main__":
    main()
