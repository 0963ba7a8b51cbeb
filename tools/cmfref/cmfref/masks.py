"""Masks section: meta JSON and bit-field blobs."""
import struct

from . import header
from .errors import CmfError


def geometry(arch, loop_masks, experts):
    """[(field, rows, bits)] of one blob."""
    n, heads = arch["num_layers"], arch["num_attention_heads"]
    per = arch.get("attention_heads_per_layer") or []
    loops = (arch.get("num_loops") or 1) if loop_masks else 1
    out = [("ffn", n * loops, arch["intermediate_size"]), ("heads", n, max([heads, *per])), ("gates", 1, n)]
    if experts:
        out.append(("experts", n, arch["moe"]["num_experts"]))
    return out


def row_bits(arch, field, row, bits):
    """Bits of this row that mean something; the rest must be zero."""
    per = arch.get("attention_heads_per_layer")
    return per[row] if field == "heads" and per else bits


def read(f):
    off, length = f.spans["masks"]
    sec = f.section("masks")
    loop = bool(f.features & 32)

    def bad(code, at, msg, path=None):
        raise CmfError(code, "masks", off + at, msg, path=path)
    if length < 8:
        bad("Parse", 0, "shorter than 8 bytes")
    n, meta_len = struct.unpack_from("<II", sec)
    if 8 + meta_len > length:
        bad("Bounds", 4, "meta passes the end of the section")
    meta = header.check(sec[8:8 + meta_len], "masks", off + 8, header.MASK_META)
    if n != len(meta["masks"]):
        bad("Parse", 0, f"n_masks {n}, meta has {len(meta['masks'])}")
    names, ids, spans, blobs = set(), set(), [], []
    for i, m in enumerate(meta["masks"]):
        p = f"$.masks[{i}]"
        if m["name"] in names or not m["name"]:
            bad("Parse", 8, "mask names are unique and not empty", p + ".name")
        if m["task_id"] in ids:
            bad("Parse", 8, "task ids are unique", p + ".task_id")
        names.add(m["name"])
        ids.add(m["task_id"])
        if not 0 <= m["sparsity"] <= 1:
            bad("Parse", 8, "sparsity outside 0..1", p + ".sparsity")
        if m.get("has_hot_pack"):
            bad("Parse", 8, "hot packs are reserved", p + ".has_hot_pack")
        if m.get("has_expert_fields") and f.arch.get("moe") is None:
            bad("Missing", 8, "expert fields need arch.moe", p + ".has_expert_fields")
        geo = geometry(f.arch, loop, m.get("has_expert_fields"))
        want = sum(rows * -(-bits // 8) for _, rows, bits in geo)
        b = m["blob_off"]
        if m["blob_len"] != want:
            bad("Bounds", 8, f"blob_len {m['blob_len']} != {want}", p + ".blob_len")
        if b % 8:
            bad("Bounds", 8, "blob_off is not a multiple of 8", p + ".blob_off")
        if b < 8 + meta_len or b + want > length:
            bad("Bounds", 8, "blob outside the section or inside the meta", p + ".blob_off")
        spans.append((b, b + want, i))
        blobs.append((b, geo, p))
    spans.sort()
    for (_, b, i), (c, _, j) in zip(spans, spans[1:]):
        if c < b:
            bad("Bounds", 8, "blobs overlap", f"$.masks[{max(i, j)}].blob_off")
    for at, geo, p in blobs:
        for field, rows, bits in geo:
            size = -(-bits // 8)
            for r in range(rows):
                v = int.from_bytes(sec[at:at + size], "little")
                live = row_bits(f.arch, field, r, bits)
                if v >> live:
                    first = v >> live << live
                    bad("Parse", at + ((first & -first).bit_length() - 1) // 8, f"{field} row {r}: tail bits set", p)
                at += size
    return meta


def rows(f, i):
    """{field: [set of active positions per row]} of mask i."""
    m, sec, out = f.masks["masks"][i], f.section("masks"), {}
    at = m["blob_off"]
    for field, n, bits in geometry(f.arch, bool(f.features & 32), m.get("has_expert_fields")):
        size = -(-bits // 8)
        out[field] = []
        for _ in range(n):
            v = int.from_bytes(sec[at:at + size], "little")
            out[field].append([k for k in range(bits) if v >> k & 1])
            at += size
    return out


def padding(f):
    """Findings on bytes that belong to neither the meta nor a blob."""
    off, length = f.spans["masks"]
    sec = f.section("masks")
    end = 8 + struct.unpack_from("<II", sec)[1]
    spans = sorted((m["blob_off"], m["blob_off"] + m["blob_len"]) for m in f.masks["masks"]) + [(length, length)]
    for a, b in spans:
        for k in range(end, a):
            if sec[k]:
                yield CmfError("Parse", "masks", off + k, "padding is not zero").finding()
                return
        end = max(end, b)
