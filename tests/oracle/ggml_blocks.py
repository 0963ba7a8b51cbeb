#!/usr/bin/env python3
"""Makes tests/data/gguf/blocks.json: random blocks of ggml types and their values by the `gguf` package (PyPI).

usage: ggml_blocks.py OUT.json
"""
import json
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

# where the f16 scales of a block stand: they are set to finite numbers, everything else is random
SCALES = {
    "F16": [0], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0],
}
FINITE = [0x2E66, 0xA91F, 0x0001, 0x83FF, 0x7BFF, 0x8000, 0x3C00]  # also subnormal, largest, minus zero

random = np.random.default_rng(20260101)
result = {"gguf": "0.19.0"}
for name, scales in SCALES.items():
    kind = GGMLQuantizationType[name]
    elements, size = GGML_QUANT_SIZES[kind]
    count = 3 if elements == 256 else 7
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    for i in range(count):
        for j, at in enumerate(scales):
            blocks[i, at:at + 2] = np.frombuffer(np.uint16(FINITE[(i + j) % len(FINITE)]).tobytes(), np.uint8)
        if name == "BF16":
            blocks[i, 1] &= 0xBF  # no NaN
    values = quants.dequantize(blocks.reshape(-1), kind).astype("<f4").reshape(-1)
    assert np.isfinite(values).all() and len(values) == count * elements, name
    result[name] = {"blocks": blocks.tobytes().hex(), "values": values.tobytes().hex()}
with open(sys.argv[1], "w") as out:
    json.dump(result, out, indent=1)
    out.write("\n")
