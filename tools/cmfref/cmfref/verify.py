"""The complete chain: open, hashes, payload rules, padding, notes, signature."""
import os

from . import codecs, container, index, masks, sign
from .errors import CmfError, note
from .hash64 import hash64


def verify_bytes(data, name="(bytes)", sig=None):
    """-> (findings, File or None)."""
    try:
        f = container.File(data, name)
    except CmfError as e:
        return [e.finding()], None
    out = []

    def hash_fault(section, offset, msg, tensor=None):
        out.append(CmfError("Hash", section, offset, msg, tensor).finding())
    for s, stored, at in (("header", f.header_hash, 0x70), ("dir", f.dir_hash, 0x78)):
        if not stored:
            out.append(note("NoHash", s, at, "no hash recorded"))
        elif stored != hash64(f.section(s)):
            hash_fault(s, at, "hash differs from the envelope's")
    hashes = f.header.get("section_hashes") or {}
    for s in ("masks", "vocab", "index"):
        off, length = f.spans[s]
        if hashes.get(s) is None:
            if length:
                out.append(note("NoHash", s, off, "no hash recorded"))
        elif not length:
            out.append(note("StrayHash", s, f.spans["header"][0], "hash recorded for an absent section"))
        elif hashes[s] != f"{hash64(f.section(s)):016x}":
            hash_fault(s, off, "hash differs from section_hashes")
    for t in f.tensors:
        if t.hash != hash64(f.payload(t)):
            hash_fault("data", f.at(t), "hash differs from the directory's", t.name)
        out.extend(codecs.check_payload(t.dtype, t.shape, f.payload(t), f.at(t), t.name))
    if f.masks is not None:
        out.extend(masks.padding(f))
    if f.index is not None:
        out.extend(index.padding(f))
    for bit in ("QUANT_2F", "SKILL_FILE"):
        if (f.features ^ f.wanted_bits()) & container.BIT[bit]:
            out.append(note("FeatureBit", "envelope", 12, f"{bit} does not match the content"))
    if f.features & container.BIT["LOOP_MASKS"] and (f.arch.get("num_loops") or 1) == 1:
        out.append(note("FeatureBit", "envelope", 12, "LOOP_MASKS is set, the layers run once"))
    out.extend(dead_bytes(f))
    out.extend(layout(f))
    if sig is not None:
        out.extend(sign.check(data, sig))
    return out, f


def nonzero_unowned(f, first, last, own):
    """(count, place of the first) of nonzero bytes of [first, last) outside the spans `own`."""
    pos, total, place = first, 0, None
    for a, b in sorted(own) + [(last, last)]:
        a = min(a, last)
        if a > pos:
            gap = f.data[pos:a]
            k = len(gap) - gap.count(0)
            if k and place is None:
                place = pos + next(i for i, x in enumerate(gap) if x)
            total += k
        pos = max(pos, b)
    return total, place


def tensor_spans(f):
    return [(f.at(t), f.at(t) + t.nbytes) for t in f.tensors]


def dead_bytes(f):
    """One note if bytes of the data window that nothing owns are not all zero."""
    base, length = f.spans["data"]
    own = tensor_spans(f) + [(o, o + n) for s, (o, n) in f.spans.items() if s != "data" and n]
    total, place = nonzero_unowned(f, base, base + length, own)
    if total:
        yield note("DeadBytes", "data", place, f"{total} nonzero bytes belong to nothing")


def layout(f):
    """Notes on a file that promises the canonical layout and does not have it."""
    if (f.header.get("provenance") or {}).get("layout") != "canonical":
        return
    base, length = f.spans["data"]
    if base + length != max([base] + [b for _, b in tensor_spans(f)]):
        yield note("Layout", "envelope", container.FIELD["data"] + 8, "the data section reaches past its last tensor")
    own = [(0, 128)] + tensor_spans(f) + [(o, o + n) for o, n in f.spans.values()]
    total, place = nonzero_unowned(f, 0, len(f.data), own)
    if total:
        yield note("Layout", "envelope", place, f"{total} nonzero bytes between the sections or behind the last")


def verify_path(path, strong=False):
    with open(path, "rb") as h:
        data = h.read()
    sig = None
    if os.path.exists(path + ".sig"):
        with open(path + ".sig", "rb") as h:
            sig = h.read()
    out, f = verify_bytes(data, path, sig)
    if strong and sig is None:
        out.append(CmfError("Missing", "sig", 0, "no signature file").finding())
    return out, f


def invalid(findings):
    return any(x["level"] == "error" for x in findings)
