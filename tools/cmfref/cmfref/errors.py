"""One exception type; every fault carries a code, a section, an absolute file offset and, where it has one, a tensor."""

CODES = ("InvalidMagic", "UnsupportedVersion", "UnsupportedFeature", "Truncated", "Bounds", "Parse", "Hash",
         "Missing", "Shard", "Skill")
NOTES = ("FeatureBit", "DeadBytes", "NoHash", "StrayHash", "Layout")


class CmfError(Exception):
    def __init__(self, code, section, offset, message, tensor=None, path=None):
        assert code in CODES, code
        self.code, self.section, self.offset = code, section, offset
        self.message, self.tensor, self.path = message, tensor, path
        super().__init__(f"{code} in {section} at {offset}: {message}" + (f" [{tensor}]" if tensor else "")
                         + (f" ({path})" if path else ""))

    def finding(self, level="error"):
        return {"level": level, "code": self.code, "section": self.section, "offset": self.offset,
                "tensor": self.tensor, "path": self.path, "message": self.message}


def note(code, section, offset, message, tensor=None):
    assert code in NOTES, code
    return {"level": "note", "code": code, "section": section, "offset": offset, "tensor": tensor, "path": None,
            "message": message}
