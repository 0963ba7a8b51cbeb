"""Envelope, sections, directory: what opening a file checks (sections 1, 3)."""
import struct

from . import codecs, header, index, masks, skills, strictjson
from .errors import CmfError

MAGIC = b"CMF\x01"
ENV = struct.Struct("<4sIII14Q")
REC = struct.Struct("<IHBB6IQQQ")
SECTIONS = ("header", "dir", "data", "masks", "vocab", "index")
FIELD = {name: 0x10 + 16 * i for i, name in enumerate(SECTIONS)}     # envelope offset of each section's `off`
KNOWN_BITS = 0b1100111
PAGE, LINE = 4096, 64
BIT = {"TENSOR_DIR": 1, "BINARY_MASKS": 2, "QUANT_2F": 4, "LOOP_MASKS": 32, "SKILL_FILE": 64}


class Tensor:
    def __init__(self, name, dtype, shape, off, nbytes, hash_, record=0):
        self.name, self.dtype, self.shape, self.off = name, dtype, tuple(shape), off
        self.nbytes, self.hash, self.record = nbytes, hash_, record


class File:
    """open() of section 1: everything structural; hashes, payload contents and padding are verify's."""

    def __init__(self, data, name="(bytes)"):
        self.data, self.name = bytes(data), name
        self._envelope()
        self._sections()
        h = self.spans["header"]
        if h[1] > strictjson.MAX_BYTES:
            raise CmfError("Parse", "header", 0x18, "header longer than 64 MiB")
        self.header = header.check_header(self.section("header"), h[0])
        self.arch = self.header["arch"]
        self._late_sections()
        self._directory()
        self._overlaps()
        for t in self.tensors:
            codecs.check_tables(t.dtype, t.shape, self.payload(t), self.at(t), t.name)
        self.masks = masks.read(self) if self.spans["masks"][1] else None
        self.index = index.read(self) if self.spans["index"][1] else None
        self.skills = skills.check_registry(self)

    # -- envelope
    def _envelope(self):
        n = len(self.data)
        if n < 128:
            raise CmfError("Truncated", "envelope", n, f"{n} bytes, the envelope has 128")
        f = ENV.unpack_from(self.data)
        if f[0] != MAGIC:
            raise CmfError("InvalidMagic", "envelope", 0, "not a CMF file")
        if f[1] != 2:
            raise CmfError("UnsupportedVersion", "envelope", 4, f"version {f[1]}")
        if f[2]:
            raise CmfError("Parse", "envelope", 8, "flags are not zero")
        self.features = f[3]
        if f[3] & ~KNOWN_BITS:
            raise CmfError("UnsupportedFeature", "envelope", 12, f"bits {f[3] & ~KNOWN_BITS:#x}")
        if not f[3] & BIT["TENSOR_DIR"]:
            raise CmfError("Parse", "envelope", 12, "TENSOR_DIR is not set")
        self.spans = {s: (f[4 + 2 * i], f[5 + 2 * i]) for i, s in enumerate(SECTIONS)}
        self.header_hash, self.dir_hash = f[16], f[17]

    def _sections(self):
        eof = len(self.data)
        for s in SECTIONS:
            off, length = self.spans[s]
            if s in ("header", "dir") and not off and not length:
                raise CmfError("Missing", s, FIELD[s], "section is required")
            if s == "data":
                if off % PAGE:
                    raise CmfError("Bounds", s, FIELD[s], "data_off is not a multiple of 4096")
            elif bool(off) != bool(length):
                raise CmfError("Bounds", s, FIELD[s], "offset and length must both be zero or both be set")
            if off + length > eof:
                raise CmfError("Bounds", s, FIELD[s], f"[{off}, {off + length}) passes the end of the file, {eof}")
            if length and off < 128:
                raise CmfError("Bounds", s, FIELD[s], "overlaps the envelope")
        owners = [s for s in SECTIONS if s != "data" and self.spans[s][1]]
        for i, b in enumerate(owners):
            for a in owners[:i]:
                (x, n), (y, m) = self.spans[a], self.spans[b]
                if x < y + m and y < x + n:
                    raise CmfError("Bounds", b, FIELD[b], f"overlaps the {a} section")
        has = bool(self.spans["masks"][1])
        if has != bool(self.features & BIT["BINARY_MASKS"]):
            raise CmfError("Parse", "envelope", 12, "BINARY_MASKS and the masks section do not agree")
        if self.features & BIT["LOOP_MASKS"] and not has:
            raise CmfError("Parse", "envelope", 12, "LOOP_MASKS without a masks section")

    def _late_sections(self):
        """Only shard 1 may carry masks, vocab and index."""
        s = self.header.get("shard")
        if s and s["no"] > 1:
            for k in ("masks", "vocab", "index"):
                if self.spans[k][1]:
                    raise CmfError("Shard", k, FIELD[k], "only shard 1 may carry it")

    def section(self, name):
        off, length = self.spans[name]
        return self.data[off:off + length]

    # -- directory
    def _directory(self):
        off, length = self.spans["dir"]
        d = self.section("dir")

        def bad(code, at, msg, name=None):
            raise CmfError(code, "dir", off + at, msg, name)
        if length < 16:
            bad("Parse", 0, "shorter than 16 bytes")
        count, pool = struct.unpack_from("<QQ", d)
        if count > (length - 16) // 56:
            bad("Parse", 0, f"{count} records do not fit")
        if not 16 + 56 * count <= pool <= length:
            bad("Parse", 8, "the name pool is outside the directory")
        self.tensors, self.by_name = [], {}
        for i in range(count):
            at = 16 + 56 * i
            r = REC.unpack_from(d, at)
            no, nl, dt, nd, shape, toff, nb, hs = r[0], r[1], r[2], r[3], r[4:10], r[10], r[11], r[12]
            if no + nl > length - pool:
                bad("Parse", at, f"record {i}: name outside the pool")
            if not nl:
                bad("Parse", at + 4, f"record {i}: empty name")
            try:
                name = d[pool + no:pool + no + nl].decode("utf-8")
            except UnicodeDecodeError:
                bad("Parse", at, f"record {i}: name is not UTF-8")
            if name in self.by_name:
                bad("Parse", at, "duplicate name", name)
            if dt not in codecs.NAMES:
                bad("Parse", at + 6, f"dtype {dt}", name)
            if nd > 6:
                bad("Parse", at + 7, f"ndim {nd}", name)
            for k in range(nd, 6):
                if shape[k]:
                    bad("Parse", at + 8 + 4 * k, "shape tail is not zero", name)
            shape = shape[:nd]
            if codecs.elements(shape) >= 1 << 63:
                bad("Bounds", at + 8, "element count overflows", name)
            fault = codecs.shape_fault(dt, name, shape)
            if fault:
                bad("Parse", at + 8, fault, name)
            if toff % LINE:
                bad("Bounds", at + 32, "offset is not a multiple of 64", name)
            if toff + nb > self.spans["data"][1]:
                bad("Bounds", at + 32, "passes the end of the data section", name)
            want = codecs.fixed_size(dt, shape)
            if want is not None and want != nb:
                bad("Bounds", at + 40, f"nbytes {nb} != {want}", name)
            self.by_name[name] = Tensor(name, dt, shape, toff, nb, hs, off + at)
            self.tensors.append(self.by_name[name])

    def at(self, t):
        return self.spans["data"][0] + t.off

    def payload(self, t):
        a = self.at(t)
        return self.data[a:a + t.nbytes]

    def _overlaps(self):
        """No byte of a tensor belongs to another tensor or to a section other than data."""
        owned = [(o, o + n, -1, s) for s, (o, n) in self.spans.items() if s != "data" and n]
        owned += [(self.at(t), self.at(t) + t.nbytes, t.record, t) for t in self.tensors if t.nbytes]
        owned.sort(key=lambda x: (x[0], x[2]))
        end, last = 0, None
        for a, b, rec, who in owned:
            if a < end and not (isinstance(who, str) and isinstance(last, str)):
                t = who if isinstance(who, Tensor) else last
                other = last if isinstance(who, Tensor) else who
                raise CmfError("Bounds", "dir", t.record + 32, "overlaps "
                               + (other if isinstance(other, str) else other.name), t.name)
            if b > end:
                end, last = b, who

    # -- content
    def decode(self, t):
        return codecs.decode(t.dtype, t.shape, self.payload(t))

    @property
    def is_skill_file(self):
        return any(s.get("base_dir_hash") is not None for s in self.header.get("skills") or [])

    def wanted_bits(self):
        """The feature bits the content calls for."""
        b = 1 | (self.features & BIT["LOOP_MASKS"])
        b |= BIT["BINARY_MASKS"] if self.spans["masks"][1] else 0
        b |= BIT["QUANT_2F"] if any(t.dtype in (8, 9, 10) for t in self.tensors) else 0
        return b | (BIT["SKILL_FILE"] if self.is_skill_file else 0)


def open_file(path):
    with open(path, "rb") as f:
        return File(f.read(), str(path))
