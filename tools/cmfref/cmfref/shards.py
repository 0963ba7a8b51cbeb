"""Shard sets: naming, opening, the rules between siblings."""
import os
import re

from . import container, skills
from .errors import CmfError

NAME = re.compile(r"(?P<base>.*)-(?P<no>[0-9]{5})-of-(?P<count>[0-9]{5})\.cmf", re.S)


class Set:
    """One or more files read as one; tensors in shard order."""

    def __init__(self, files):
        self.files = files
        self.header, self.skills = files[0].header, files[0].skills
        self.by_name = {}
        for f in files:
            for t in f.tensors:
                if t.name in self.by_name:
                    raise CmfError("Shard", "dir", t.record, f"also in an earlier shard ({f.name})", t.name)
                self.by_name[t.name] = t
        if len(files) > 1:
            skills.check_names([t for f in files for t in f.tensors], self.by_name, self.skills, False)


def open_set(path):
    """Any name of a set opens the set; a file without a shard block opens alone, whatever its name."""
    first = container.open_file(path)
    s = first.header.get("shard")
    if s is None:
        return Set([first])

    def bad(f, msg, p="$.shard"):
        raise CmfError("Shard", "header", f.spans["header"][0] if f else 0, msg, path=p)
    m = NAME.fullmatch(os.path.basename(path))
    if not m or int(m["no"]) != s["no"] or int(m["count"]) != s["count"]:
        bad(first, "file name and shard block do not agree")
    files = []
    for no in range(1, s["count"] + 1):
        q = os.path.join(os.path.dirname(path), f"{m['base']}-{no:05}-of-{s['count']:05}.cmf")
        if no == s["no"]:
            files.append(first)
            continue
        if not os.path.exists(q):
            bad(None, f"missing sibling {os.path.basename(q)}")
        f = container.open_file(q)
        b = f.header.get("shard")
        if b is None or b["no"] != no or b["count"] != s["count"]:
            bad(f, "shard block does not agree with the set")
        files.append(f)
    for f in files[1:]:
        if f.arch != files[0].arch:
            bad(f, "arch differs from shard 1's", "$.arch")
    return Set(files)
