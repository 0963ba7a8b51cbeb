"""`amphora verify` and tools/cmfref, written apart from each other, judge the same files alike: validity and every finding with
its code, section, offset, tensor and path.

AMPHORA_MUTATIONS=100000 in the environment compares that many changed files (the default takes some seconds),
AMPHORA_MUTATION_SEED starts elsewhere. Needs numpy."""

import importlib.util
import json
import os
import pathlib
import random
import sys

if importlib.util.find_spec("numpy") is None and sys.executable != "/usr/bin/python3":
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])  # Debian's own, which scripts/packages.txt gives numpy
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "cmfref"))

import numpy as np

import cmf_mutations
import harness
from cmfref import codecs, skills, suite, verify
from cmfref.hash64 import hash64
from harness import DATA, run

STRICT, FIELD = DATA / "cmf_strict" / "golden", DATA / "cmf"
MUTATIONS = int(os.environ.get("AMPHORA_MUTATIONS", "2000"))
SEED = int(os.environ.get("AMPHORA_MUTATION_SEED", "1"))
BATCH = 250
KEYS = ("level", "code", "section", "offset", "tensor", "path")
LARGEST_BASE = 80_000


def facts(findings):
    return [tuple(finding[key] for key in KEYS) for finding in findings]


def alike(ours, theirs):
    """Whether two lists of findings say the same. The page asks for no path at a JSON syntax fault: cmfref gives none."""
    if len(ours) != len(theirs):
        return False
    for a, b in zip(facts(ours), facts(theirs)):
        if a != b and (a[:-1] != b[:-1] or b[-1] is not None or b[1] != "Parse" or b[2] not in ("header", "masks", "sig")):
            return False
    return True


def verdicts(paths):
    """What the program says about each file."""
    result = run("verify", "--json", *paths)
    reports = [json.loads(line) for line in result.out.splitlines()]
    assert [report["file"] for report in reports] == [str(path) for path in paths], str(result)
    return reports


class SecondReader(harness.CommandLineTest):
    def test_agrees_on_every_golden_file(self):
        paths = sorted(DATA.glob("cmf*/**/*.cmf"))
        self.assertGreater(len(paths), 140)
        for path, report in zip(paths, verdicts(paths)):
            with self.subTest(path.name):
                findings, _ = verify.verify_path(str(path))
                self.assertTrue(alike(report["findings"], findings), (facts(report["findings"]), facts(findings)))
                self.assertEqual(report["valid"], not verify.invalid(findings))

    def test_gives_the_expected_finding_for_every_case_of_the_suite(self):
        count, differing = suite.replay(STRICT, DATA / "cmf_strict" / "suite")
        self.assertEqual((count, differing), (793, []))

    def test_judges_signatures_as_the_suite_expects(self):
        lines = (DATA / "cmf_strict" / "suite" / "sets.jsonl").read_text().splitlines()
        cases = [case for case in map(json.loads, lines) if "sig" in case]
        self.assertEqual(len(cases), 9)
        for case in cases:
            with self.subTest(case["id"]):
                findings, f = verify.verify_bytes((STRICT / case["file"]).read_bytes(), sig=case["sig"].encode())
                self.assertTrue(suite.agrees(findings, f is not None, {**case["expect"], "when": "verify"}), findings)

    def test_decodes_every_tensor_to_the_writers_values(self):
        tensors = 0
        for path in sorted(FIELD.glob("*.cmf")) + sorted(STRICT.glob("*.cmf")):
            expected = json.loads(path.with_suffix(".json").read_text())
            _, f = verify.verify_path(str(path))
            self.assertEqual([t.name for t in f.tensors], [t["name"] for t in expected["tensors"]])
            for t, want in zip(f.tensors, expected["tensors"]):
                self.assertEqual(codecs.NAMES[t.dtype], want["dtype"])
                if "f32_hash64" in want:
                    values = np.ascontiguousarray(f.decode(t), "<f4")
                    self.assertEqual(f"{hash64(values.tobytes()):016x}", want["f32_hash64"], (path.name, t.name))
                    tensors += 1
        self.assertGreater(tensors, 1500)

    def test_routes_as_the_writer_says(self):
        for name in ("grown_1", "grown_2"):
            expected = json.loads((STRICT / f"{name}.json").read_text()).get("route")
            if expected is None:
                continue
            _, f = verify.verify_path(str(STRICT / f"{name}.cmf"))
            for skill, energy in expected["energies"].items():
                self.assertAlmostEqual(skills.energy(f.skills[skill], expected["phi"]), energy, places=12)

    def test_agrees_on_changed_files(self):
        bases = [path for path in sorted(STRICT.glob("**/*.cmf")) + sorted(FIELD.glob("*.cmf")) if path.stat().st_size <= LARGEST_BASE]
        contents = {path: path.read_bytes() for path in bases}
        differing, outcomes = [], {}
        for first in range(0, MUTATIONS, BATCH):
            made = {}
            for i in range(first, min(first + BATCH, MUTATIONS)):
                source = random.Random(f"{SEED}:{i}")
                base = source.choice(bases)
                data, done = cmf_mutations.mutate(contents[base], source)
                path = self.folder / f"{i}.cmf"
                path.write_bytes(data)
                made[path] = f"{SEED}:{i} {base.name}: {', '.join(done)}"
            for path, report in zip(made, verdicts(list(made))):
                findings, _ = verify.verify_path(str(path))
                outcome = "valid" if report["valid"] else next(x["code"] for x in report["findings"] if x["level"] == "error")
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
                if not alike(report["findings"], findings):
                    ours, theirs = facts(report["findings"]), facts(findings)
                    differing.append(f"{made[path]}\n  amphora {ours[:3]}\n  cmfref  {theirs[:3]}")
                path.unlink()
        print(f"{MUTATIONS} changed files:", ", ".join(f"{k} {n}" for k, n in sorted(outcomes.items())), file=sys.stderr)
        self.assertEqual(differing, [], "\n" + "\n".join(differing[:40]))
        self.assertLessEqual({"valid", "Bounds", "Hash", "Parse", "Missing", "Truncated"}, set(outcomes))


if __name__ == "__main__":
    harness.main()
