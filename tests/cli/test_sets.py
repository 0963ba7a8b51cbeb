"""Sets of shards, compaction and skill files, as users meet them: what each verb opens, exit codes, nothing left behind."""

import json
import shutil
import struct

import harness
from harness import DATA, run

FIELD = DATA / "cmf"
GOLDEN = DATA / "cmf_strict" / "golden"
SHARDS = [FIELD / f"shard-0000{no}-of-00003.cmf" for no in (1, 2, 3)]
WHOLE = FIELD / "dense_q8.cmf"  # the same weights in one file


class Sets(harness.CommandLineTest):
    def copies(self, *paths):
        """Copies of files in the test's folder; their new paths."""
        return [shutil.copy(path, self.folder / path.name) for path in paths]

    def test_every_name_of_a_set_runs_as_the_whole_model(self):
        whole = self.ok("logits", WHOLE, "--tokens", "1,2,3", "--all", "--exact", "--json").json()
        self.assertEqual(len(whole["all"]), 128)
        for shard in SHARDS:
            self.assertEqual(self.ok("logits", shard, "--tokens", "1,2,3", "--all", "--exact", "--json").json(), whole)
        ids = self.folder / "ids"
        ids.write_text("1,2,3,4,5")
        self.assertEqual(self.ok("ppl", SHARDS[1], "--tokens-file", ids, "--json").out,
                         self.ok("ppl", WHOLE, "--tokens-file", ids, "--json").out)

    def test_every_name_of_a_written_set_answers_as_the_whole_model(self):
        whole, part = self.folder / "whole.cmf", self.folder / "part.cmf"
        self.ok("convert", DATA / "base-model", "-o", whole, "--quant", "q8")
        self.ok("convert", DATA / "base-model", "-o", part, "--quant", "q8", "--shard-max-gb", "0.002")
        shards = sorted(self.folder.glob("part-*.cmf"))
        self.assertGreater(len(shards), 1)
        arguments = ["-p", "The old man", "--max-tokens", "4", "--verify", "--threads", "1"]
        answer = self.ok("run", whole, *arguments).out
        tokens = self.ok("tokenize", whole, "The old man", "--json").out
        for shard in shards:
            self.assertEqual(self.ok("run", shard, *arguments).out, answer)
            self.assertEqual(self.ok("tokenize", shard, "The old man", "--json").out, tokens)
            self.assertTrue(self.ok("info", shard, "--json").json()["runs_here"])

    def test_what_describes_files_acts_on_the_file_named(self):
        for shard in SHARDS:
            page = json.loads(shard.with_suffix(".json").read_text())
            rows = self.ok("tensors", shard, "--json").json()
            self.assertEqual([(row["name"], row["hash"]) for row in rows],
                             [(row["name"], row["hash"]) for row in page["tensors"]])
            report = self.ok("verify", shard, "--json").json()
            self.assertTrue(report["valid"])
            facts = self.ok("info", shard, "--json").json()
            self.assertEqual(facts["tensors"], len(page["tensors"]))
            self.assertEqual(facts["file_bytes"], shard.stat().st_size)
            self.assertEqual(facts["shard"]["count"], 3)

    def test_a_shard_alone_is_described_but_does_not_run(self):
        lonely, = self.copies(SHARDS[1])
        self.ok("tensors", lonely)
        self.ok("verify", lonely)
        facts = self.ok("info", lonely, "--json").json()
        self.assertFalse(facts["runs_here"])
        self.assertIn("shard-00001-of-00003.cmf", facts["why_not"])
        for arguments in [("logits", lonely, "--tokens", "1"), ("run", lonely, "-p", "x"), ("tokenize", lonely, "x"),
                          ("compact", lonely, "-o", self.folder / "out.cmf"),
                          ("shard", lonely, "-o", self.folder / "out.cmf", "--shard-max-gb", "1")]:
            self.refused(1, *arguments, words=["shard-00001-of-00003.cmf", "not there"])
        self.assertEqual(self.files(), [lonely.name])

    def test_run_verify_looks_at_every_shard(self):
        copies = self.copies(*SHARDS)
        damaged = bytearray(copies[2].read_bytes())
        damaged[-1] ^= 1
        copies[2].write_bytes(damaged)
        self.ok("verify", copies[0])
        self.refused(1, "run", copies[0], "-p", "x", "--verify", words=["hash64"])

    def test_shard_and_compact_are_inverse(self):
        self.ok("compact", GOLDEN / "grown_2.cmf", "-o", self.folder / "whole.cmf")
        self.assertEqual((self.folder / "whole.cmf").read_bytes(), (GOLDEN / "grown_compact.cmf").read_bytes())
        result = self.ok("shard", GOLDEN / "grown_2.cmf", "-o", self.folder / "part.cmf", "--shard-max-gb", "0.000025", "--json")
        files = result.json()["files"]
        self.assertEqual([file["file"] for file in files],
                         [str(self.folder / f"part-0000{no}-of-00003.cmf") for no in (1, 2, 3)])
        for file in files:
            with open(file["file"], "rb") as opened:
                self.assertEqual(len(opened.read()), file["bytes"])
            self.ok("verify", file["file"])
        self.ok("compact", files[1]["file"], "-o", self.folder / "again.cmf")
        self.assertEqual((self.folder / "again.cmf").read_bytes(), (self.folder / "whole.cmf").read_bytes())

    def test_a_set_that_would_have_one_shard_is_a_plain_file(self):
        result = self.ok("shard", SHARDS[0], "-o", self.folder / "one.cmf", "--shard-max-gb", "4", "--json").json()
        self.assertEqual([file["file"] for file in result["files"]], [str(self.folder / "one.cmf")])
        self.assertIsNone(self.ok("info", self.folder / "one.cmf", "--json").json()["shard"])
        self.ok("compact", SHARDS[2], "-o", self.folder / "whole.cmf")
        self.assertEqual((self.folder / "one.cmf").read_bytes(), (self.folder / "whole.cmf").read_bytes())

    def test_limits_that_make_no_sense_are_wrong_usage(self):
        for limit in ["0", "-1", "nan", "inf", "1e300", "x", "1GB", "", "1e-10"]:
            self.assertEqual(run("shard", WHOLE, "-o", self.folder / "o.cmf", "--shard-max-gb", limit).status, 2, limit)
        self.assertEqual(run("shard", WHOLE, "-o", self.folder / "o.cmf").status, 2)
        self.assertEqual(run("compact", WHOLE).status, 2)
        self.assertEqual(self.files(), [])

    def test_compact_in_place_says_that_an_old_signature_is_void(self):
        path, _ = self.copies(GOLDEN / "signed.cmf", GOLDEN / "signed.cmf.sig")
        grown = self.folder / "signed.cmf"
        shutil.copy(GOLDEN / "grown_2.cmf", grown)
        result = self.ok("compact", path, "-o", path)
        self.assertIn(b"signed.cmf.sig", result.err)
        self.assertEqual(grown.read_bytes(), (GOLDEN / "grown_compact.cmf").read_bytes())
        self.assertNotIn(b".sig", self.ok("compact", grown, "-o", self.folder / "other.cmf").err)

    def test_an_output_that_is_a_shard_of_the_source_is_refused(self):
        copies = self.copies(*SHARDS)
        before = [path.read_bytes() for path in copies]
        self.refused(2, "compact", copies[0], "-o", copies[2], words=["shard-00003-of-00003.cmf", "source"])
        self.refused(2, "shard", copies[0], "-o", self.folder / "shard.cmf", "--shard-max-gb", "0.000035", words=["source"])
        self.assertEqual([path.read_bytes() for path in copies], before)

    def test_damage_gets_no_new_hash(self):
        damaged = bytearray(WHOLE.read_bytes())
        damaged[struct.unpack_from("<Q", damaged, 0x30)[0]] ^= 1
        path = self.folder / "damaged.cmf"
        path.write_bytes(damaged)
        self.refused(1, "compact", path, "-o", self.folder / "o.cmf", words=["hash64", "lm_head.weight"])
        self.refused(1, "shard", path, "-o", self.folder / "o.cmf", "--shard-max-gb", "0.00003", words=["hash64"])
        self.assertEqual(self.files(), ["damaged.cmf"])

    def test_trouble_with_files_leaves_nothing(self):
        self.refused(3, "compact", self.folder / "nothing.cmf", "-o", self.folder / "o.cmf")
        self.refused(3, "compact", WHOLE, "-o", self.folder / "nowhere" / "o.cmf")
        (self.folder / "o-00002-of-00004.cmf").mkdir()
        self.refused(3, "shard", WHOLE, "-o", self.folder / "o.cmf", "--shard-max-gb", "0.00003", words=["o-00002-of-00004.cmf"])
        self.assertEqual(self.files(), ["o-00002-of-00004.cmf"])
        self.refused(1, "compact", DATA / "gguf" / "llama_f32.gguf", "-o", self.folder / "o.cmf")


class Skills(harness.CommandLineTest):
    def test_apply_gives_the_references_bytes(self):
        out = self.folder / "a.cmf"
        self.ok("skill", "apply", GOLDEN / "skill_base.cmf", GOLDEN / "skill_file.cmf", "-o", out)
        self.assertEqual(out.read_bytes(), (GOLDEN / "skill_applied.cmf").read_bytes())

    def test_an_applied_skill_runs_as_the_specialist_that_it_came_from(self):
        out = self.folder / "a.cmf"
        self.ok("skill", "apply", WHOLE, FIELD / "skill_file.cmf", "-o", out, "-q")
        options = ["--tokens", "1,2,3", "--all", "--exact", "--json"]
        self.assertEqual(self.ok("logits", out, *options).json(), self.ok("logits", FIELD / "specialist_q8.cmf", *options).json())
        self.assertNotEqual(self.ok("logits", out, *options).json(), self.ok("logits", WHOLE, *options).json())
        self.refused(4, "logits", FIELD / "skill_file.cmf", "--tokens", "1", words=["skill apply"])

    def test_what_does_not_fit_is_refused(self):
        out = self.folder / "a.cmf"
        wrong = ("skill", "apply", GOLDEN / "skill_wrong_base.cmf", GOLDEN / "skill_file.cmf", "-o", out)
        self.refused(1, *wrong, words=["3fce0b7bcc7595e9", "a7a556cf242b13f5"])
        self.refused(1, "skill", "apply", GOLDEN / "skill_base.cmf", GOLDEN / "skill_specialist.cmf", "-o", out)
        self.refused(1, "skill", "apply", SHARDS[0], FIELD / "skill_file.cmf", "-o", out, words=["compact"])
        self.assertEqual(self.files(), [])
        self.ok(*wrong, "--force")
        self.assertEqual(self.files(), ["a.cmf"])

    def test_list_counts_what_a_skill_owns(self):
        two = self.ok("skill", "list", FIELD / "skill_two.cmf", "--json").json()
        page = json.loads((FIELD / "skill_two.json").read_text())
        for skill in two:
            own = [row for row in page["tensors"] if row["name"].startswith(f"skill.{skill['id']}.")]
            self.assertGreater(len(own), 0)
            self.assertEqual((skill["tensors"], skill["bytes"]), (len(own), sum(row["nbytes"] for row in own)))
            self.assertIsNone(skill["base_dir_hash"])
        self.assertEqual(len(two), 2)
        alone, = self.ok("skill", "list", GOLDEN / "skill_file.cmf", "--json").json()
        self.assertEqual(alone, {"id": "gfx", "name": "Gfx", "layers": [0, 1], "selectable": False,
                                 "base_dir_hash": "3fce0b7bcc7595e9", "tensors": 2, "bytes": 3536})
        shared, = self.ok("skill", "list", GOLDEN / "shards_good" / "tiny-00001-of-00003.cmf", "--json").json()
        self.assertEqual((shared["id"], shared["tensors"]), ("s", 1))
        self.assertEqual(self.ok("skill", "list", WHOLE).out, b"no skills\n")
        self.assertEqual(self.ok("skill", "list", WHOLE, "--json").json(), [])

    def test_subcommands_are_required_and_explained(self):
        self.assertEqual(run("skill").status, 2)
        self.assertEqual(run("skill", "nothing").status, 2)
        self.assertIn(b"BASE", self.ok("skill", "apply", "--help").out)


if __name__ == "__main__":
    harness.main()
