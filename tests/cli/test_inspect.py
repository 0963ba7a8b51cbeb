"""info, tensors and diff: what they say about files whose content is known."""

import hashlib
import json
import shutil
import struct

import harness
from harness import DATA, run

FIELD, STRICT = DATA / "cmf", DATA / "cmf_strict" / "golden"


def payloads(path):
    """Name and payload of every tensor, read here from the bytes."""
    data = path.read_bytes()
    directory, data_offset = struct.unpack_from("<Q", data, 0x20)[0], struct.unpack_from("<Q", data, 0x30)[0]
    count, pool = struct.unpack_from("<QQ", data, directory)
    for i in range(count):
        name, length, *_, offset, size, _ = struct.unpack_from("<IHBB6IQQQ", data, directory + 16 + 56 * i)
        name += directory + pool
        yield data[name:name + length].decode(), data[data_offset + offset:data_offset + offset + size]


class Info(harness.CommandLineTest):
    def info(self, path):
        return self.ok("info", path, "--json").json()

    def test_masks_show_what_they_keep(self):
        facts = self.info(FIELD / "masks_dense.cmf")
        self.assertEqual(facts["default_task"], "general")
        self.assertIn("BINARY_MASKS", facts["features"])
        strict = self.info(STRICT / "masks_expert.cmf")
        tasks = json.loads((STRICT / "masks_expert.json").read_text())["masks"]["tasks"]
        self.assertEqual([mask["name"] for mask in strict["masks"]], [task["name"] for task in tasks])
        for mask, task in zip(strict["masks"], tasks):
            self.assertEqual(mask["quality"], task["quality"])
            for key, rows in (("neurons", "ffn"), ("heads", "heads"), ("layers", "gates")):
                self.assertEqual(mask[key]["active"], sum(map(len, task[rows])))
            self.assertEqual(mask["experts"] is not None, "experts" in task)
            if "experts" in task:
                self.assertEqual(mask["experts"], {"active": sum(map(len, task["experts"])), "of": 22})
            self.assertEqual((mask["neurons"]["of"], mask["heads"]["of"], mask["layers"]["of"]), (144, 8, 2))
        text = self.ok("info", STRICT / "masks_expert.cmf").out.decode()
        self.assertIn("quality unmeasured", text)
        self.assertRegex(text, r"neurons \d+ of 144, heads \d of 8, layers \d of 2, experts \d+ of 22")

    def test_heads_per_layer_count_only_those_that_exist(self):
        facts = self.info(STRICT / "masks_heads_per_layer.cmf")
        tasks = json.loads((STRICT / "masks_heads_per_layer.json").read_text())["masks"]["tasks"]
        header = json.loads(json.loads((STRICT / "masks_heads_per_layer.json").read_text())["header_text"])
        heads = sum(header["arch"]["attention_heads_per_layer"])
        for mask, task in zip(facts["masks"], tasks):
            self.assertEqual(mask["heads"], {"active": sum(map(len, task["heads"])), "of": heads})

    def test_the_index_is_summed_up_by_task(self):
        facts = self.info(STRICT / "index_only.cmf")
        self.assertEqual(facts["index_entries"], 3)
        self.assertEqual(facts["index"], [{"task_id": 5, "layers": 2, "groups": 2, "heads": 1},
                                          {"task_id": 9, "layers": 1, "groups": 3, "heads": 1}])
        self.assertEqual((facts["masks"], facts["default_task"]), ([], None))

    def test_skills_show_their_tensors(self):
        facts = self.info(STRICT / "grown_2.cmf")
        self.assertEqual([skill["id"] for skill in facts["skills"]], ["alpha", "beta"])
        for skill in facts["skills"]:
            own = [data for name, data in payloads(STRICT / "grown_2.cmf") if name.startswith(f"skill.{skill['id']}.")]
            self.assertEqual((skill["tensors"], skill["bytes"]), (len(own), sum(map(len, own))))
            self.assertTrue(skill["selectable"])
        self.assertFalse(facts["skill_file"])

    def test_a_skill_file_says_what_it_is_and_does_not_run(self):
        facts = self.info(STRICT / "skill_file.cmf")
        self.assertTrue(facts["skill_file"])
        self.assertIn("SKILL_FILE", facts["features"])
        self.assertEqual(facts["skills"][0]["tensors"], facts["tensors"])
        self.assertRegex(facts["skills"][0]["base_dir_hash"], "^[0-9a-f]{16}$")
        self.assertFalse(facts["runs_here"])
        self.assertIn("skill apply", facts["why_not"])

    def test_a_pipeline_shows_its_components_and_does_not_run(self):
        facts = self.info(FIELD / "lumina_q8.cmf")
        self.assertEqual(facts["model"]["arch_name"], "lumina2-image")
        self.assertEqual(facts["pipeline"]["name"], "lumina-image-2.0")
        for prefix in ("te", "dit", "vae"):
            own = [data for name, data in payloads(FIELD / "lumina_q8.cmf") if name.split(".")[0] == prefix]
            self.assertEqual(facts["pipeline"][prefix], {"tensors": len(own), "bytes": sum(map(len, own))})
        self.assertFalse(facts["runs_here"])
        self.assertTrue(facts["why_not"])
        self.ok("info", FIELD / "lumina_q8.cmf")

    def test_a_shard_is_described_alone(self):
        facts = self.info(FIELD / "shard-00002-of-00003.cmf")
        self.assertEqual(facts["shard"], {"no": 2, "count": 3})
        self.assertEqual(facts["tensors"], len(list(payloads(FIELD / "shard-00002-of-00003.cmf"))))
        self.assertEqual(facts["tokenizer_bytes"], 0)

    def test_a_signature_is_shown_with_its_key(self):
        facts = self.info(STRICT / "signed.cmf")
        key = json.loads((STRICT / "signed.cmf.sig").read_text())["pubkey"]
        self.assertEqual((facts["signature"], facts["signature_key"]), ("present", key))
        path = self.folder / "x.cmf"
        shutil.copy(STRICT / "signed.cmf", path)
        facts = self.info(path)
        self.assertEqual((facts["signature"], facts["signature_key"]), ("absent", None))
        for text in ["[]", "{", '{"pubkey":7}', "x" * 100_000]:
            (self.folder / "x.cmf.sig").write_text(text)
            facts = self.info(path)
            self.assertEqual((facts["signature"], facts["signature_key"]), ("present", None))

    def test_every_valid_golden_file_can_be_shown(self):
        for path in sorted(FIELD.glob("*.cmf")) + sorted(STRICT.glob("*.cmf")):
            with self.subTest(path.name):
                facts = self.info(path)
                self.assertEqual(facts["tensors"], len(list(payloads(path))))
                self.assertEqual(facts["runs_here"], facts["why_not"] is None)
                self.assertTrue(self.ok("info", path).out)


class Tensors(harness.CommandLineTest):
    def test_sha256_is_that_of_the_payload(self):
        path = STRICT / "encode.cmf"
        expected = {name: hashlib.sha256(data).hexdigest() for name, data in payloads(path)}
        rows = self.ok("tensors", path, "--sha256", "--json").json()
        self.assertEqual({row["name"]: row["sha256"] for row in rows}, expected)
        self.assertEqual(list(rows[0]), ["name", "dtype", "shape", "off", "nbytes", "hash", "sha256"])
        text = self.ok("tensors", path, "--sha256", "--filter", "^enc.q4tp$").out.decode()
        self.assertIn("sha256 " + expected["enc.q4tp"], text)
        self.assertNotIn("sha256", self.ok("tensors", path, "--json").out.decode())

    def test_values_and_sums_of_every_type(self):
        for path in [STRICT / "encode.cmf", STRICT / "overlays.cmf", STRICT / "ladders.cmf", STRICT / "vbit_widths.cmf",
                     FIELD / "dense_q2tp.cmf"]:
            expected = json.loads(path.with_suffix(".json").read_text())["tensors"]
            rows = self.ok("tensors", path, "--json", "--values", 8).json()
            self.assertEqual(len(rows), len(expected))
            for row, want in zip(rows, expected):
                for key in ("name", "dtype", "shape", "off", "nbytes", "hash", "f32_hash64"):
                    self.assertEqual(row[key], want[key], (path.name, want["name"]))
                # The shortest text of a float: the same number only after it has been read as one.
                values = [struct.unpack("<f", struct.pack("<f", value))[0] for value in row.get("values", [])]
                self.assertEqual(values, want["first8"], want["name"])
                self.assertLessEqual(abs(row["sum"] - want["sum"]), 1e-9 * max(1, want["sumsq"]))


class Diff(harness.CommandLineTest):
    def different(self, *arguments):
        result = run("diff", *arguments)
        self.assertEqual(result.status, 1, str(result))
        self.assertEqual(result.err, b"")
        return result

    def test_the_same_content_is_equal_wherever_it_lies(self):
        self.assertEqual(self.ok("diff", STRICT / "grown_2.cmf", STRICT / "grown_compact.cmf").out, b"no differences\n")
        report = self.ok("diff", STRICT / "grown_2.cmf", STRICT / "grown_compact.cmf", "--json", "--bytes").json()
        self.assertTrue(report["equal"])
        self.assertEqual(report["tensors"], {"added": [], "removed": [], "changed": []})
        self.assertEqual((report["header"], report["sections"], report["features"]), ([], [], None))

    def test_an_added_skill_is_tensors_and_a_record(self):
        report = self.different(STRICT / "grown_1.cmf", STRICT / "grown_2.cmf", "--json").json()
        self.assertEqual(report["tensors"]["removed"], [])
        self.assertEqual(report["tensors"]["changed"], [])
        self.assertTrue(report["tensors"]["added"])
        self.assertTrue(all(name.startswith("skill.beta.") for name in report["tensors"]["added"]))
        self.assertEqual([change["path"] for change in report["header"]], ["$.skills"])
        back = self.different(STRICT / "grown_2.cmf", STRICT / "grown_1.cmf", "--json").json()
        self.assertEqual(back["tensors"]["removed"], report["tensors"]["added"])

    def test_another_dtype_is_a_change_of_type_and_hash(self):
        report = self.different(FIELD / "dense_f16.cmf", FIELD / "dense_q8.cmf", "--json").json()
        self.assertEqual((report["tensors"]["added"], report["tensors"]["removed"]), ([], []))
        changed = {change["name"]: change for change in report["tensors"]["changed"]}
        head = changed["lm_head.weight"]
        self.assertEqual(head["dtype"], {"from": "f16", "to": "q8_row"})
        self.assertEqual(set(head), {"name", "dtype", "hash"})
        self.assertNotIn("model.norm.weight", changed)
        self.assertIn("$.quant_type", [change["path"] for change in report["header"]])
        text = self.different(FIELD / "dense_f16.cmf", FIELD / "dense_q8.cmf").out.decode()
        self.assertIn('tensor ~ lm_head.weight: dtype "f16" -> "q8_row", hash ', text)

    def test_sections_and_feature_bits(self):
        report = self.different(STRICT / "skill_base.cmf", STRICT / "masks_plain.cmf", "--json").json()
        sections = {change["section"]: change for change in report["sections"]}
        self.assertEqual(sections["masks"], {"section": "masks", "to": 1301})
        self.assertIn("index", sections)
        self.assertNotIn("$.section_hashes", [change["path"] for change in report["header"]])
        self.assertEqual(report["features"]["field"], "required_features")

    def test_bytes_find_what_the_hash_does_not_see(self):
        """hash64 is blind to two words changing places; --bytes is not."""
        data = bytearray((FIELD / "dense_f32.cmf").read_bytes())
        place = struct.unpack_from("<Q", data, 0x30)[0]
        self.assertNotEqual(data[place:place + 8], data[place + 8:place + 16])
        data[place:place + 8], data[place + 8:place + 16] = data[place + 8:place + 16], data[place:place + 8]
        path = self.folder / "swapped.cmf"
        path.write_bytes(data)
        self.ok("verify", path)
        self.ok("diff", FIELD / "dense_f32.cmf", path)
        report = self.different(FIELD / "dense_f32.cmf", path, "--bytes", "--json").json()
        self.assertEqual(len(report["tensors"]["changed"]), 1)

    def test_files_that_cannot_be_compared(self):
        self.refused(3, "diff", STRICT / "names.cmf", self.folder / "missing.cmf", words=["missing.cmf"])
        self.refused(1, "diff", STRICT / "names.cmf", FIELD / "bad" / "magic.cmf")
        self.refused(2, "diff", STRICT / "names.cmf")


if __name__ == "__main__":
    harness.main()
