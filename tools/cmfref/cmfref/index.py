"""Sparse index (section 7)."""
import struct

from .errors import CmfError


def read(f):
    off, length = f.spans["index"]
    sec = f.section("index")
    groups_max = -(-f.arch["intermediate_size"] // 32)
    per = f.arch.get("attention_heads_per_layer")
    tasks = {m["task_id"] for m in f.masks["masks"]} if f.masks else None

    def bad(code, at, msg):
        raise CmfError(code, "index", off + at, msg)
    if length < 8:
        bad("Parse", 0, "shorter than 8 bytes")
    n, zero = struct.unpack_from("<II", sec)
    if zero:
        bad("Parse", 4, "reserved word is not zero")
    at, out, seen = 8, [], set()
    for i in range(n):
        if at + 16 > length:
            bad("Bounds", 0, f"entry {i} of {n} passes the end of the section")
        task, layer, ng, nh = struct.unpack_from("<IIII", sec, at)
        end = at + 16 + 2 * ng + nh
        if -(-end // 4) * 4 > length:
            bad("Bounds", at + 8, f"entry {i} passes the end of the section")
        if tasks is not None and task not in tasks:
            bad("Parse", at, f"entry {i}: no mask has task id {task}")
        if layer >= f.arch["num_layers"] or (task, layer) in seen:
            bad("Parse", at + 4, f"entry {i}: layer out of range or twice")
        seen.add((task, layer))
        groups = list(struct.unpack_from(f"<{ng}H", sec, at + 16))
        heads = list(sec[at + 16 + 2 * ng:end])
        limit = per[layer] if per else f.arch["num_attention_heads"]
        for vals, top, pos, w in ((groups, groups_max, at + 16, 2), (heads, limit, at + 16 + 2 * ng, 1)):
            for k, v in enumerate(vals):
                if v >= top or k and v <= vals[k - 1]:
                    bad("Parse", pos + w * k, f"entry {i}: value {v} out of range or not ascending")
        out.append({"task": task, "layer": layer, "groups": groups, "heads": heads, "end": end})
        at = -(-end // 4) * 4
    if at != length:
        bad("Parse", at, "bytes after the last entry")
    return out


def padding(f):
    off = f.spans["index"][0]
    sec = f.section("index")
    for e in f.index:
        for k in range(e["end"], -(-e["end"] // 4) * 4):
            if sec[k]:
                yield CmfError("Parse", "index", off + k, "padding is not zero").finding()
                return
