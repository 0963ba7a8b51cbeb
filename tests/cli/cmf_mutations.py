"""Seeded changes of CMF files: damage that two readers must judge alike.

Most changes are followed by a repair of the hashes, so that what lies behind a hash is judged too."""

import re
import struct

from cmfref import container
from cmfref.hash64 import hash64

SECTIONS = container.SECTIONS
U32, U64 = (1 << 32) - 1, (1 << 64) - 1
RECORD_FIELDS = [(0, "I"), (4, "H"), (6, "B"), (7, "B"), (8, "I"), (12, "I"), (16, "I"), (28, "I"), (32, "Q"), (40, "Q"),
                 (48, "Q")]
JSON_SCRAPS = ["null", "true", "-1", "0", "1", "2", "31", "4294967295", "4294967296", "1.0", "1e2", "1e999", "NaN", '""', '"x"',
               "[]", "{}", '"\\ud800"', '"\\u0000"', "[[1]]", '{"a":1,"a":2}', "9" * 30, "-0", "01", '"canonical"', '"mse"']
KEYS = ["format", "version", "arch", "skills", "shard", "provenance", "section_hashes", "tokenizer_config", "layout", "id",
        "layers", "moe", "num_layers", "masks", "task_id", "name", "quality", "n_group", "longrope", "no", "count"]


class Mutator:
    def __init__(self, data, random):
        self.b, self.random = bytearray(data), random

    # -- reading what is there; places may be nonsense after an earlier change
    def get(self, at, fmt):
        size = struct.calcsize(fmt)
        return struct.unpack_from("<" + fmt, self.b, at)[0] if 0 <= at <= len(self.b) - size else 0

    def put(self, at, fmt, value):
        size = struct.calcsize(fmt)
        if 0 <= at <= len(self.b) - size:
            struct.pack_into("<" + fmt, self.b, at, value % (1 << 8 * size))

    def span(self, section):
        at = container.FIELD[section]
        offset, length = self.get(at, "Q"), self.get(at + 8, "Q")
        return (offset, length) if offset + length <= len(self.b) else (0, 0)

    def records(self):
        offset, length = self.span("dir")
        if length < 16:
            return []
        return [offset + 16 + 56 * i for i in range(min(self.get(offset, "Q"), (length - 16) // 56))]

    def pick(self, first, size):
        return first + self.random.randrange(size) if size > 0 else 0

    def interesting(self, value):
        r = self.random
        return r.choice([0, 1, value - 1, value + 1, value + 8, value - 8, value + 64, value + 4096, value - 4096, value * 2, value // 2,
                         value ^ (1 << r.randrange(64)), len(self.b), len(self.b) + 1, U32, U64, U64 - 127, 1 << 63,
                         r.randrange(256), r.randrange(len(self.b) + 1), self.span(r.choice(SECTIONS))[0], sum(self.span(r.choice(SECTIONS)))])

    # -- single changes
    def flip_bit(self):
        if self.b:
            self.b[self.pick(0, len(self.b))] ^= 1 << self.random.randrange(8)

    def set_bytes(self):
        at = self.pick(0, len(self.b))
        for i in range(self.random.choice([1, 1, 2, 4, 8])):
            if at + i < len(self.b):
                self.b[at + i] = self.random.choice([0, 1, 0x7F, 0x80, 0xFF, 0x7C, self.random.randrange(256)])

    def truncate(self):
        r = self.random
        ends = [sum(self.span(s)) for s in SECTIONS] + [r.randrange(len(self.b) + 1), len(self.b) - 1, 127, 128]
        del self.b[max(0, r.choice(ends) - r.choice([0, 0, 1, 8])):]

    def insert(self):
        at = self.pick(0, len(self.b) + 1)
        self.b[at:at] = bytes(self.random.choice([0, 0, self.random.randrange(256)]) for _ in range(self.random.choice([1, 8, 64])))

    def delete(self):
        at = self.pick(0, len(self.b))
        del self.b[at:at + self.random.choice([1, 8, 64])]

    def swap_ranges(self):
        size = self.random.choice([1, 4, 8, 16, 56])
        a, c = self.pick(0, len(self.b) - size), self.pick(0, len(self.b) - size)
        self.b[a:a + size], self.b[c:c + size] = self.b[c:c + size], self.b[a:a + size]

    def edit_envelope(self):
        fields = [(4, "I"), (8, "I"), (12, "I")] + [(0x10 + 8 * i, "Q") for i in range(14)] * 2
        at, fmt = self.random.choice(fields)
        value = self.get(at, fmt)
        self.put(at, fmt, value ^ (1 << self.random.randrange(8)) if at == 12 else self.interesting(value))

    def swap_sections(self):
        a, c = self.random.sample(SECTIONS, 2)
        x, y = self.span(a), self.span(c)
        for section, (offset, length) in ((a, y), (c, x)):
            self.put(container.FIELD[section], "Q", offset)
            self.put(container.FIELD[section] + 8, "Q", length)

    def move_section(self):
        """A section's bytes to the file's end: valid by itself."""
        section = self.random.choice([s for s in SECTIONS if s != "data"])
        offset, length = self.span(section)
        self.b += bytes(self.random.choice([0, 1, 7]))
        self.put(container.FIELD[section], "Q", len(self.b))
        self.b += self.b[offset:offset + length]

    def edit_record(self):
        records = self.records()
        if records:
            at, fmt = self.random.choice(RECORD_FIELDS)
            at += self.random.choice(records)
            self.put(at, fmt, self.random.choice([self.interesting(self.get(at, fmt)), self.random.randrange(18)]))

    def copy_record_field(self):
        records = self.records()
        if len(records) > 1:
            a, c = self.random.sample(records, 2)
            at, fmt = self.random.choice(RECORD_FIELDS)
            self.put(a + at, fmt, self.get(c + at, fmt))

    def edit_directory_head(self):
        at = self.span("dir")[0] + self.random.choice([0, 8])
        self.put(at, "Q", self.interesting(self.get(at, "Q")))

    def edit_payload(self):
        """Near the borders of a payload are its tables; anywhere else a code or a scale."""
        records = self.records()
        if not records:
            return
        record = self.random.choice(records)
        at, size = self.span("data")[0] + self.get(record + 32, "Q"), self.get(record + 40, "Q")
        place = self.random.choice([0, 1, self.random.randrange(64), size - 1, size - self.random.randrange(1, 64), self.pick(0, size)])
        fmt = self.random.choice("BBHI")
        self.put(at + place, fmt, self.random.choice([self.interesting(self.get(at + place, fmt)), 0x7C00, 0xFFFF, 243, 7]))

    def edit_section(self):
        section = self.random.choice(["masks", "index", "vocab", "header", "dir"])
        offset, length = self.span(section)
        if length:
            fmt = self.random.choice("BBHI")
            at = self.random.choice([offset, offset + 4, offset + 8, self.pick(offset, length), offset + length - 1])
            self.put(at, fmt, self.interesting(self.get(at, fmt)))

    def edit_json(self):
        """The header or the masks meta with a token changed; the new text goes to the file's end if it grew."""
        in_masks = self.span("masks")[1] > 8 and self.random.random() < 0.4
        offset, length = self.span("masks" if in_masks else "header")
        if in_masks:
            meta = self.get(offset + 4, "I")
            text = self.changed_text(bytes(self.b[offset + 8:offset + 8 + meta]))
            if text is None or meta > length:
                return
            if len(text) <= meta:
                self.b[offset + 8:offset + 8 + meta] = text.ljust(meta)
                return
            section = struct.pack("<II", self.get(offset, "I"), len(text)) + text + bytes(self.b[offset + 8 + meta:offset + length])
            self.append_section("masks", section)
        else:
            text = self.changed_text(bytes(self.b[offset:offset + length]))
            if text is not None:
                self.append_section("header", text)

    def append_section(self, name, content):
        self.put(container.FIELD[name], "Q", len(self.b))
        self.put(container.FIELD[name] + 8, "Q", len(content))
        self.b += content

    def changed_text(self, text):
        r = self.random
        tokens = list(re.finditer(rb'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[{}\[\],:]', text))
        if not tokens:
            return None
        values = [t for t in tokens if t[0] not in (b"{", b"}", b"[", b"]", b",", b":")] or tokens
        if r.random() < 0.5:
            values = values[len(values) // 2:]  # skills and the like stand behind the many keys of arch
        token = r.choice(values)
        kind = r.randrange(8)
        if kind < 4:
            new = r.choice(JSON_SCRAPS).encode()
        elif kind == 4:
            new = b'"' + r.choice(KEYS).encode() + b'"'
        elif kind == 5:
            new = r.choice(values)[0]
        elif kind == 6:
            token, new = r.choice(tokens), r.choice([b"", b",", b"}", b" ", b"\xff", b"\n\t", b"\x0b", b"\x00"])
        else:
            member = ('"%s":%s,' % (r.choice(KEYS), r.choice(JSON_SCRAPS))).encode()
            token = r.choice([t for t in tokens if t[0] == b"{"] or tokens)
            new = token[0] + member
        return text[:token.start()] + new + text[token.end():]

    # -- a repair: every recorded hash that can be placed becomes that of the bytes
    def seal(self):
        data, _ = self.span("data")
        for record in self.records():
            at, size = data + self.get(record + 32, "Q"), self.get(record + 40, "Q")
            if at + size <= len(self.b):
                self.put(record + 48, "Q", hash64(self.b[at:at + size]))
        header, length = self.span("header")
        for section in ("masks", "vocab", "index"):
            offset, size = self.span(section)
            found = re.search(rb'"%s":"([0-9a-f]{16})"' % section.encode(), bytes(self.b[header:header + length]))
            if found and size:
                self.b[header + found.start(1):header + found.end(1)] = b"%016x" % hash64(self.b[offset:offset + size])
        for section, field in (("header", 0x70), ("dir", 0x78)):
            if self.get(field, "Q"):
                offset, size = self.span(section)
                self.put(field, "Q", hash64(self.b[offset:offset + size]))


# How often each change is tried; those inside structures find more than those anywhere.
CHANGES = ([Mutator.flip_bit] * 2 + [Mutator.set_bytes] * 2 + [Mutator.truncate, Mutator.insert, Mutator.delete, Mutator.swap_ranges] +
           [Mutator.edit_envelope] * 4 + [Mutator.swap_sections, Mutator.move_section] + [Mutator.edit_record] * 4 +
           [Mutator.copy_record_field, Mutator.edit_directory_head] + [Mutator.edit_payload] * 4 + [Mutator.edit_section] * 4 +
           [Mutator.edit_json] * 6)


def mutate(data, random):
    """The changed bytes and, for people, what was done."""
    mutator = Mutator(data, random)
    done = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        change = random.choice(CHANGES)
        done.append(change.__name__)
        if len(mutator.b) > 128:
            change(mutator)
    if random.random() < 0.7 and len(mutator.b) >= 128:
        done.append("seal")
        mutator.seal()
    return bytes(mutator.b), done
