"""Writes the seeds of codec_fuzz: one valid payload for each element type of variable or grouped layout.

Usage: make_codec_fuzz_seeds.py FOLDER
The first five bytes are those of src/quant/codec_fuzz.cc: place in the table of codecs, rows, groups of 32 columns
in a row, start and length of a range. Only the standard library is needed: the payloads are written out by hand.
"""
import struct
import sys
from pathlib import Path

ONE = b"\x00\x3c"  # 1.0 as f16
CODECS = ["f32", "f16", "bf16", "q8_row", "q4_block", "u8", "vbit", "q8_2f", "vbit_ro", "q4_tiled", "q1", "q1s",
          "q1t", "q4tp", "q2tp"]


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def vbit(widths, groups, with_offsets):
    rows = [bytes(range(1, 4 * groups * width + 1)) for width in widths]
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    table = u32(*offsets) if with_offsets else b""
    return bytes(widths) + ONE * (len(widths) * groups) + table + b"".join(rows)


def q1s(tiles, overlay):
    return (ONE + b"\xa5\x5a\x0f\xf0") * tiles + u32(len(overlay)) + b"".join(u32(i) + ONE for i in overlay)


def q1t(rows, groups, columns):
    """The same overlay columns in every row, over codes of 0."""
    pointers = u32(*(len(columns) * row for row in range(rows + 1)))
    entries = b"".join(struct.pack("<H", column) + ONE for column in columns) * rows
    return (ONE + bytes(7)) * (rows * groups) + pointers + entries


SEEDS = {
    "vbit": (5, 1, vbit([3, 4, 5, 6, 8], 1, False)),
    "vbit_ro": (3, 2, vbit([8, 3, 6], 2, True)),
    "q1": (2, 2, (ONE + b"\xa5\x5a\x0f\xf0") * 4),
    "q1s": (2, 2, q1s(4, [0, 31, 64, 127])),
    "q1s_none": (1, 1, q1s(1, [])),
    "q1t": (3, 2, q1t(3, 2, [0, 33, 63])),
    "q1t_codes": (1, 1, ONE + bytes([242, 121, 5, 0, 80, 7, 8]) + u32(0, 0)),
    "q8_row": (2, 1, bytes(range(64)) + ONE * 2),
    "q8_2f": (2, 1, bytes(range(64)) + ONE * 34),
    "q4_block": (2, 1, bytes(range(32)) + ONE * 2),
    "q4_tiled": (2, 1, (ONE + bytes(range(16))) * 2),
    "q4tp": (2, 1, bytes(range(32)) + (ONE + bytes(2)) * 2 + b"\x05\x1f"),
    "q4tp_nan": (1, 1, bytes(range(16)) + b"\x01\xfe\x00\x7c" + b"\x05"),  # row parameters that are not finite
    "q2tp": (2, 1, bytes(range(16)) + (ONE + bytes(2)) * 2 + b"\x05\x1f"),
    "f16": (1, 1, ONE * 32),
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (rows, groups, payload) in SEEDS.items():
        codec = next(i for i, known in enumerate(CODECS) if name == known or name in (known + "_none", known + "_nan",
                                                                                      known + "_codes"))
        (folder / name).write_bytes(bytes([codec, rows, groups, 100, 200]) + payload)


if __name__ == "__main__":
    main()
