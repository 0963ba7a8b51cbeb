"""Builds SentencePiece's precompiled_charsmap: a darts-clone double array from texts to their replacements."""
import struct


def build(mapping):
    """`mapping`: text to replacement; gives the bytes of the blob."""
    blob, places = b"", {}
    for target in sorted(set(mapping.values())):
        places[target] = len(blob)
        blob += target.encode() + b"\0"
    root = {}
    for source, target in mapping.items():
        node = root
        for byte in source.encode():
            node = node.setdefault(byte, {})
        node[0] = places[target]
    units, used = [0] * 256, {0}
    free = [1]

    def place(labels):
        base = free[0]
        while any((base ^ label) in used for label in labels):
            base += 1
        return base

    open_nodes = [(0, root)]
    while open_nodes:
        position, node = open_nodes.pop()
        base = place(node)
        offset = position ^ base
        while base >= len(units) - 256:
            units += [0] * 256
        assert offset < 1 << 21
        units[position] |= offset << 10 | (0x100 if 0 in node else 0)
        for label, child in node.items():
            used.add(base ^ label)
            if label == 0:
                units[base] = 0x80000000 | child
            else:
                units[base ^ label] = label
                open_nodes.append((base ^ label, child))
        while free[0] in used:
            free[0] += 1
    trie = struct.pack("<%dI" % len(units), *units)
    return struct.pack("<I", len(trie)) + trie + blob
