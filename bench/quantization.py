"""What each element type loses on a real model: bits per weight, relative RMS error of the weights, perplexity and
divergence from the source; the table of docs/quantization.md.

The error is computed by the second reader (tools/cmfref, numpy), not by the program that encoded; perplexity and divergence
are `amphora ppl --compare`. Needs python3-numpy.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/cmfref"))

import numpy as np  # noqa: E402
from cmfref import codecs, container  # noqa: E402

# Name in the table, options of convert. `--imatrix` is completed with the measured file.
TARGETS = [
    ("q8", ["--quant", "q8"]),
    ("q8_2f", ["--quant", "q8_2f"]),
    ("q4, plain", ["--quant", "q4", "--encoder", "plain"]),
    ("q4, search", ["--quant", "q4", "--encoder", "search"]),
    ("q4t, plain", ["--quant", "q4t", "--encoder", "plain"]),
    ("q4t, search", ["--quant", "q4t", "--encoder", "search"]),
    ("q4t, search, importance", ["--quant", "q4t", "--encoder", "search", "--imatrix"]),
    ("q4tp, plain", ["--quant", "q4tp", "--encoder", "plain"]),
    ("q4tp, search", ["--quant", "q4tp", "--encoder", "search"]),
    ("q4tp, search, importance", ["--quant", "q4tp", "--encoder", "search", "--imatrix"]),
    ("vbit:4, plain", ["--quant", "vbit:4", "--encoder", "plain"]),
    ("vbit:4, search", ["--quant", "vbit:4", "--encoder", "search"]),
    ("vbit:4.5, search", ["--quant", "vbit:4.5", "--encoder", "search"]),
    ("q1t", ["--quant", "q1t"]),
    ("q1s", ["--quant", "q1s"]),
    ("q1", ["--quant", "q1"]),
]


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"quantization: {' '.join(map(str, command))} ended with status {done.returncode}")
    return done.stdout


def values_of(file, record):
    return file.decode(record).astype(np.float64)


def weights_error(source, quantised):
    """Over the matrices that the target's type was chosen for: bits per weight, and the error's norm over the weights'."""
    stored = weights = 0
    error = energy = 0.0
    kept = {"f32", "f16", "bf16"}
    below_8 = {codecs.NAMES[record.dtype] for record in quantised.tensors} - kept - {"q8_row", "q8_2f"}
    counted = below_8 or {"q8_row", "q8_2f"}
    originals = {record.name: record for record in source.tensors}
    for record in quantised.tensors:
        if codecs.NAMES[record.dtype] not in counted:
            continue
        original = values_of(source, originals[record.name])
        error += float(np.sum((values_of(quantised, record) - original) ** 2))
        energy += float(np.sum(original ** 2))
        stored += record.nbytes
        weights += original.size
    return 8 * stored / weights, math.sqrt(error / energy)


def measure(arguments, work, source, name, options):
    out = work / "candidate.cmf"
    if "--imatrix" in options:
        options = options + [work / "importance.safetensors"]
    run(arguments.amphora, "convert", source, "-o", out, "--quiet", *options)
    bits, error = weights_error(container.open_file(source), container.open_file(out))
    text = json.loads(run(arguments.amphora, "ppl", out, arguments.text, "--compare", source, "--json"))
    compared = text["compare"]
    print(f"| {name} | {bits:.3f} | {os.path.getsize(out) / 1e6:.0f} | {100 * error:.3f} % | {text['ppl']:.3f} | "
          f"{compared['ppl_ratio']:.4f} | {compared['kl_mean']:.5f} | {compared['kl_99']:.4f} | "
          f"{100 * compared['top1_agreement']:.1f} % |", flush=True)
    out.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amphora", default=ROOT / "build/release/amphora")
    parser.add_argument("--model", required=True, help="a GGUF file, Hugging Face directory or .cmf file")
    parser.add_argument("--text", default=ROOT / "tests/data/real/prose.txt", help="what perplexity is measured on")
    parser.add_argument("--calibration", help="what importance is collected on (default: this project's own pages)")
    parser.add_argument("--only", help="names of rows, separated by semicolons")
    arguments = parser.parse_args()

    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    work = cache / "amphora/bench/quantization"
    work.mkdir(parents=True, exist_ok=True)
    source = work / "source.cmf"
    run(arguments.amphora, "convert", arguments.model, "-o", source, "--quant", "f16", "--quiet")
    calibration = arguments.calibration
    if not calibration:
        calibration = work / "calibration.txt"
        pages = sorted(ROOT.glob("docs/**/*.md")) + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        calibration.write_text("\n\n".join(page.read_text(encoding="utf-8") for page in pages), encoding="utf-8")
    names = [name.strip() for name in arguments.only.split(";")] if arguments.only else None
    chosen = [target for target in TARGETS if names is None or target[0] in names]
    if any("--imatrix" in options for _, options in chosen):
        run(arguments.amphora, "ppl", source, calibration, "--ctx", "2048", "--imatrix-out",
            work / "importance.safetensors", "--quiet", "--json")

    text = json.loads(run(arguments.amphora, "ppl", source, arguments.text, "--json"))
    print(f"f16: perplexity {text['ppl']:.3f} ± {text['ppl_stderr']:.3f} over {text['tokens']} tokens\n")
    print("| type | bits per weight | file MB | relative RMS error | perplexity | ratio | mean KL | 99 % KL | same first |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, options in chosen:
        measure(arguments, work, source, name, options)


if __name__ == "__main__":
    main()
