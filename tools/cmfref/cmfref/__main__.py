import argparse
import json
import sys

import numpy as np

from . import codecs, container, verify
from .hash64 import hash64


def main():
    p = argparse.ArgumentParser(prog="cmfref")
    sub = p.add_subparsers(dest="verb", required=True)
    for verb in ("verify", "tensors"):
        q = sub.add_parser(verb)
        q.add_argument("file")
        q.add_argument("--json", action="store_true")
        if verb == "verify":
            q.add_argument("--strong", action="store_true")
    a = p.parse_args()
    try:
        findings, f = verify.verify_path(a.file, getattr(a, "strong", False))
    except OSError as e:
        print(json.dumps({"unreadable": str(e)}) if a.json else e, file=sys.stdout if a.json else sys.stderr)
        return 3
    if a.verb == "verify":
        if a.json:
            print(json.dumps({"valid": not verify.invalid(findings), "findings": findings}, ensure_ascii=False))
        else:
            for x in findings:
                print(x["level"], x["code"], x["section"], x["offset"], x["tensor"] or x["path"] or "", x["message"])
        return int(verify.invalid(findings))
    if f is None:
        print(json.dumps({"findings": findings}))
        return 1
    rows = []
    for t in f.tensors:
        w = f.decode(t)
        wide = w.reshape(-1).astype(np.float64)
        rows.append({"name": t.name, "dtype": codecs.NAMES[t.dtype], "shape": list(t.shape), "off": t.off,
                     "nbytes": t.nbytes, "hash": f"{t.hash:016x}", "first8": [float(x) for x in wide[:8]],
                     "sum": float(wide.sum()), "sumsq": float((wide ** 2).sum()),
                     "f32_hash64": f"{hash64(np.ascontiguousarray(w.astype('<f4')).tobytes()):016x}"})
    print(json.dumps(rows, ensure_ascii=False) if a.json else "\n".join(f"{r['dtype']:9}{r['shape']} {r['name']}"
                                                                        for r in rows))
    return 0


sys.exit(main())
