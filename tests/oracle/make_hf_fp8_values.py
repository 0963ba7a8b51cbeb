#!/usr/bin/env python3
"""Prints the values that src/package/hf_fp8_test.cc expects of dequantised fp8 matrices (needs numpy).

Byte i of a matrix is 73·i + 5 modulo 251, or 0 where that is NaN; scale k is 0.0123·(k + 1), in f32. E4M3 has a
sign, four bits of exponent of bias 7 and three of mantissa (arXiv 2209.05433, table 1).
"""
import numpy as np


def e4m3(byte):
    exponent, mantissa = byte >> 3 & 15, byte & 7
    magnitude = mantissa * 2.0**-9 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    return -magnitude if byte & 128 else magnitude


def dequantised(rows, columns, block_rows, block_columns):
    codes = (73 * np.arange(rows * columns, dtype=np.int64) + 5) % 251
    codes[codes == 127] = 0
    values = np.array([e4m3(int(code)) for code in codes], np.float32).reshape(rows, columns)
    grid = (-(-rows // block_rows), -(-columns // block_columns))
    scales = np.float32(0.0123) * (np.arange(grid[0] * grid[1]) + 1).astype(np.float32).reshape(grid)
    spread = np.repeat(np.repeat(scales, block_rows, 0), block_columns, 1)[:rows, :columns]
    return values * spread


for rows, columns, block_rows, block_columns, places in (
    (256, 384, 128, 128, [(0, 0), (0, 127), (0, 128), (127, 383), (128, 0), (200, 130), (255, 383)]),
    (300, 200, 128, 128, [(0, 0), (128, 127), (128, 128), (256, 0), (299, 199), (255, 199)]),
    (5, 3, 2, 2, [(0, 0), (1, 2), (2, 1), (3, 2), (4, 2)]),
):
    matrix = dequantised(rows, columns, block_rows, block_columns)
    print(rows, columns, block_rows, block_columns)
    for row, column in places:
        print("  {%d, %d, %.9gf}," % (row, column, matrix[row, column]))
