"""The damage suite: cases are edits of golden files with the finding that they must give."""
import json
import os

from . import verify


def apply(data, case):
    """The case's bytes: truncated, edited, appended to, in this order."""
    b = bytearray(data[:case.get("truncate", len(data))])
    for e in case["edits"]:
        raw = bytes.fromhex(e["hex"])
        b[e["offset"]:e["offset"] + len(raw)] = raw
    for p in case.get("append", ()):
        b += bytes.fromhex(p["hex"]) * p.get("repeat", 1)
    return bytes(b)


def agrees(findings, opened, expect):
    if expect["when"] == "never":
        return opened and not verify.invalid(findings)
    got = [x for x in findings if x["level"] == expect.get("level", "error")]
    keys = [k for k in ("code", "section", "offset", "tensor", "path") if k in expect]
    return bool(got) and all(got[0][k] == expect[k] for k in keys) and opened == (expect["when"] != "open")


def replay(golden_folder, suite_folder):
    """(number of cases, ids of those that this reader judges otherwise)."""
    count, differing = 0, []
    with open(os.path.join(suite_folder, "cases.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            with open(os.path.join(golden_folder, case["base"]), "rb") as h:
                findings, f = verify.verify_bytes(apply(h.read(), case))
            count += 1
            if not agrees(findings, f is not None, case["expect"]):
                differing.append(case["id"])
    return count, differing
