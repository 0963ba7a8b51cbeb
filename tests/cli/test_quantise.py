"""What `convert` makes of weights: odd rows, odd widths, importance, budgets of vbit, shards, the sparse index; and the
importance that `ppl` collects, against an oracle in this file."""

import json
import math
import shutil
import struct

import harness
from harness import DATA

GROUPED = ["q4", "q4t", "q4tp", "q1", "q1s", "q1t", "vbit"]


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"],
                   data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]])
            for name, entry in header.items()}


def write_safetensors(path, tensors, metadata=None):
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def values_of(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Quantise(harness.CommandLineTest):
    def model(self, name="qwen3"):
        """A copy of a tiny model that a test may change; its weights are f32."""
        folder = self.folder / f"model-{name}"
        shutil.copytree(DATA / "hf" / "tiny" / name, folder)
        return folder

    def edited(self, edit, name="qwen3"):
        folder = self.model(name)
        tensors = read_safetensors(folder / "model.safetensors")
        edit(tensors)
        write_safetensors(folder / "model.safetensors", tensors)
        return folder

    def importance(self, entries, tokens="7"):
        path = self.folder / "x.imatrix"
        write_safetensors(path, {name: ("F32", [len(values)], floats(values)) for name, values in entries.items()},
                          {"format": "amphora-imatrix", "version": "1", "tokens": tokens})
        return path

    def tensors(self, path, *options):
        return {row["name"]: row for row in self.ok("tensors", path, "--json", *options).json()}

    def outputs(self):
        return [name for name in self.files() if name.endswith(".cmf")]


class OddRows(Quantise):
    NAME = "model.layers.0.self_attn.q_proj.weight"

    def with_rows(self, rows):
        def edit(tensors):
            dtype, shape, data = tensors[self.NAME]
            self.assertEqual(dtype, "F32")
            values = values_of(data)
            for index, row in rows.items():
                self.assertEqual(len(row), shape[1])
                values[index * shape[1]:(index + 1) * shape[1]] = row
            tensors[self.NAME] = (dtype, shape, floats(values))
        return self.edited(edit)

    def columns(self):
        return read_safetensors(DATA / "hf" / "tiny" / "qwen3" / "model.safetensors")[self.NAME][1][1]

    def test_values_that_are_not_finite_are_named_and_nothing_is_left(self):
        for bad, word in [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "infinity")]:
            row = [0.5] * self.columns()
            row[7] = bad
            source = self.with_rows({2: row})
            for quant in ["f16", "q8", "q8_2f", *GROUPED]:
                with self.subTest(bad=bad, quant=quant):
                    self.refused(1, "convert", source, "-o", self.folder / "out.cmf", "--quant", quant,
                                 words=[self.NAME, f"{word} at flat index {2 * self.columns() + 7}"])
                    self.assertEqual(self.outputs(), [])
            shutil.rmtree(source)

    def test_extreme_rows_stay_finite_and_within_half_a_step(self):
        columns = self.columns()
        spike = [1e-6] * columns
        spike[11] = 6e4
        rows = {0: [0.0] * columns, 1: spike, 2: [0.25] * columns, 3: [1e-41] * columns, 4: [-1e-6] * columns}
        source = self.with_rows(rows)
        for quant in ["q8", "q8_2f", *GROUPED]:
            with self.subTest(quant=quant):
                out = self.folder / "out.cmf"
                self.ok("convert", source, "-o", out, "--quant", quant, "--encoder", "plain", "-q")
                self.ok("verify", out)
                decoded = self.tensors(out, "--filter", self.NAME, "--values", 5 * columns)[self.NAME]["values"]
                self.assertTrue(all(math.isfinite(value) for value in decoded))
                group, levels = {"q8": (columns, 127), "q4": (32, 7), "q4t": (32, 7)}.get(quant, (0, 0))
                for start in range(0, 5 * columns, group) if group else []:
                    wanted = [f32(value) for row in rows.values() for value in row][start:start + group]
                    # A scale is an f16 of at least 2^-14.
                    step = max(max(map(abs, wanted)) / levels, 2 ** -14)
                    for want, found in zip(wanted, decoded[start:start + group], strict=True):
                        # Half a step, and what the scale's rounding to f16 moves at the ends.
                        self.assertLessEqual(abs(want - found), step / 2 + levels * step * 2 ** -11)


class OddWidths(Quantise):
    """One layer whose FFN is as wide as those of models that come in widths which 256 does not divide."""

    def wide(self, width):
        folder = self.model("qwen3")
        config = json.loads((folder / "config.json").read_text())
        hidden = config["hidden_size"]
        config.update(num_hidden_layers=1, intermediate_size=width)
        config.pop("layer_types", None)
        config.pop("max_window_layers", None)
        (folder / "config.json").write_text(json.dumps(config))
        tensors = {name: tensor for name, tensor in read_safetensors(folder / "model.safetensors").items()
                   if ".layers." not in name or ".layers.0." in name}
        values = floats([math.sin(i) for i in range(width * hidden)])
        for name, shape in [("gate", [width, hidden]), ("up", [width, hidden]), ("down", [hidden, width])]:
            tensors[f"model.layers.0.mlp.{name}_proj.weight"] = ("F32", shape, values)
        write_safetensors(folder / "model.safetensors", tensors)
        return folder, hidden

    def test_widths_of_real_models_need_no_fallback(self):
        for width in [2688, 1856, 4544, 13696]:
            source, hidden = self.wide(width)
            with self.subTest(width=width):
                for quant in ["q4t", "vbit", "q4tp"]:
                    self.ok("convert", source, "--quant", quant, "--no-fallback", "--dry-run", "-q")
                report = self.ok("convert", source, "-o", self.folder / "out.cmf", "--quant", "q4t", "--no-fallback",
                                 "--json").json()
                (four,) = [row for row in report["types"] if row["dtype"] == "q4_tiled"]
                self.assertEqual(four["tensors"], 7)
                self.assertEqual(four["nominal_bits"], 4.5)
                self.assertEqual(four["real_bits"], 4.5)
                self.assertAlmostEqual(sum(row["share"] for row in report["types"]), 1)
                self.assertEqual(sum(row["nbytes"] for row in report["types"]), report["payload_bytes"])
                down = self.tensors(self.folder / "out.cmf")["model.layers.0.mlp.down_proj.weight"]
                self.assertEqual(down["nbytes"], hidden * width // 32 * 18)
                self.ok("verify", self.folder / "out.cmf")
            shutil.rmtree(source)

    def test_a_width_that_32_does_not_divide_falls_back_and_is_counted(self):
        source, hidden = self.wide(1850)
        report = self.ok("convert", source, "-o", self.folder / "out.cmf", "--quant", "q4t", "--json").json()
        (fallen,) = [row for row in report["types"] if row["fallback"]]
        self.assertEqual((fallen["source"], fallen["dtype"], fallen["tensors"]), ("F32", "q8_2f", 1))
        self.assertEqual(fallen["nbytes"], hidden * 1850 + 2 * hidden + 2 * 1850)
        self.assertEqual(fallen["nominal_bits"], 4.5)
        self.assertAlmostEqual(fallen["real_bits"], 8 * fallen["nbytes"] / (hidden * 1850))
        self.assertAlmostEqual(fallen["share"], fallen["nbytes"] / report["payload_bytes"])
        text = self.ok("convert", source, "--quant", "q4t", "--dry-run").out.decode()
        self.assertIn("F32 -> q8_2f (fallback)", text)
        (self.folder / "out.cmf").unlink()
        for quant in ["q4t", "vbit", "q1s"]:
            self.refused(1, "convert", source, "-o", self.folder / "out.cmf", "--quant", quant, "--no-fallback",
                         words=["model.layers.0.mlp.down_proj.weight"])
        self.assertEqual(self.outputs(), [])


class ImportanceFiles(Quantise):
    NAME = "model.layers.1.mlp.up_proj.weight"

    def setUp(self):
        super().setUp()
        self.source = DATA / "hf" / "tiny" / "qwen3"
        self.shapes = {name: shape for name, (_, shape, _) in read_safetensors(self.source / "model.safetensors").items()}

    def convert(self, *options, quant="q4t"):
        out = self.folder / "out.cmf"
        run = self.ok("convert", self.source, "-o", out, "--quant", quant, "--encoder", "search", *options)
        self.ok("verify", out)
        return out.read_bytes(), run.err.decode()

    def ones(self):
        return {name: [1.0] * shape[1] for name, shape in self.shapes.items() if len(shape) == 2}

    def test_unusable_values_name_tensor_and_index(self):
        for bad in [math.nan, math.inf, -math.inf, -1.0]:
            values = [1.0] * self.shapes[self.NAME][1]
            values[5] = bad
            path = self.importance({self.NAME: values})
            self.refused(1, "convert", self.source, "-o", self.folder / "out.cmf", "--quant", "q4t", "--imatrix", path,
                         words=[self.NAME, "index 5"])
        self.refused(1, "convert", self.source, "-o", self.folder / "out.cmf", "--quant", "q4t", "--imatrix",
                     self.importance({self.NAME: [1.0] * 31}), words=[self.NAME, "31 columns"])
        self.refused(1, "convert", self.source, "-o", self.folder / "out.cmf", "--imatrix",
                     self.source / "model.safetensors", words=["importance"])
        self.refused(3, "convert", self.source, "-o", self.folder / "out.cmf", "--imatrix", self.folder / "none")
        self.assertEqual(self.outputs(), [])

    def test_all_zero_and_absent_mean_unweighted_and_are_told(self):
        plain, notes = self.convert()
        self.assertNotIn("importance", notes)
        entries = self.ones()
        entries[self.NAME] = [0.0] * len(entries[self.NAME])
        weighted, notes = self.convert("--imatrix", self.importance(entries))
        self.assertEqual(weighted, plain, "ones weigh nothing, and zeros count as ones")
        self.assertIn(f"importance of 1 tensors is all zero, so their columns count alike: {self.NAME}", notes)
        del entries[self.NAME]
        weighted, notes = self.convert("--imatrix", self.importance(entries))
        self.assertEqual(weighted, plain)
        self.assertRegex(notes, f"says nothing of 1 of [0-9]+ tensors .*: {self.NAME}")
        entries["model.layers.99.mlp.up_proj.weight"] = [1.0]
        _, notes = self.convert("--imatrix", self.importance(entries))
        self.assertIn("1 entries for tensors that are not in the model: model.layers.99.mlp.up_proj.weight", notes)

    def test_a_group_without_importance_is_finite(self):
        entries = self.ones()
        columns = len(entries[self.NAME])
        entries[self.NAME] = [0.0] * 32 + [1.0] * (columns - 32)
        for quant in ["q4", "q4t", "q4tp"]:
            self.convert("--imatrix", self.importance(entries), quant=quant)
            row = self.tensors(self.folder / "out.cmf", "--filter", self.NAME, "--stats")[self.NAME]
            self.assertTrue(math.isfinite(row["min"]) and math.isfinite(row["max"]))
            self.assertGreater(row["max"], row["min"])

    def test_importance_moves_the_error_to_columns_that_count_less(self):
        before, _ = self.convert()
        columns = self.shapes[self.NAME][1]
        heavy = [c for c in range(columns) if c % 4 == 0]

        def error():
            found = self.tensors(self.folder / "out.cmf", "--filter", self.NAME, "--values", 1 << 20)[self.NAME]["values"]
            wanted = values_of(read_safetensors(self.source / "model.safetensors")[self.NAME][2])
            return sum((wanted[row + c] - found[row + c]) ** 2 for row in range(0, len(wanted), columns) for c in heavy)

        alike = error()
        entries = {self.NAME: [1000.0 if c in heavy else 1.0 for c in range(columns)]}
        after, _ = self.convert("--imatrix", self.importance(entries))
        self.assertNotEqual(after, before)
        self.assertLess(error(), alike)

    def test_it_says_when_it_has_no_effect(self):
        path = self.importance(self.ones())
        _, notes = self.convert("--imatrix", path, quant="f16")
        self.assertIn("no effect", notes)
        report = self.ok("convert", self.source, "--quant", "q4t", "--encoder", "plain", "--imatrix", path, "--dry-run",
                         "--json").json()
        self.assertTrue(any("no effect" in note for note in report["notes"]))


class CollectedImportance(Quantise):
    def test_it_is_the_mean_square_of_the_inputs(self):
        source = DATA / "hf" / "tiny" / "qwen3"
        config = json.loads((source / "config.json").read_text())
        weights = read_safetensors(source / "model.safetensors")
        ids = [1, 5, 9, 5, 200, 3]
        tokens = self.folder / "ids.txt"
        tokens.write_text(",".join(map(str, ids)))
        path = self.folder / "x.imatrix"
        measured = self.ok("ppl", source, "--tokens-file", tokens, "--exact", "--imatrix-out", path, "--json").json()
        self.assertEqual(measured, self.ok("ppl", source, "--tokens-file", tokens, "--exact", "--json").json())
        found = read_safetensors(path)

        # The first layer's attention sees the normalised embeddings of all tokens but the last, which is only predicted.
        hidden = config["hidden_size"]
        embedding = values_of(weights["model.embed_tokens.weight"][2])
        norm = values_of(weights["model.layers.0.input_layernorm.weight"][2])
        sums = [0.0] * hidden
        for token in ids[:-1]:
            row = embedding[token * hidden:(token + 1) * hidden]
            scale = 1 / math.sqrt(sum(x * x for x in row) / hidden + config["rms_norm_eps"])
            for c in range(hidden):
                sums[c] += (row[c] * scale * norm[c]) ** 2
        for projection in ["q", "k", "v"]:
            dtype, shape, data = found[f"model.layers.0.self_attn.{projection}_proj.weight"]
            self.assertEqual((dtype, shape), ("F32", [hidden]))
            for got, total in zip(values_of(data), sums, strict=True):
                self.assertAlmostEqual(got / (total / (len(ids) - 1)), 1, delta=1e-5)

        linear = {name for name, (_, shape, _) in weights.items() if len(shape) == 2}
        if "lm_head.weight" in linear:
            linear.remove("model.embed_tokens.weight")
        self.assertEqual(set(found), linear)
        for name, (_, shape, _) in found.items():
            self.assertEqual(shape, [weights[name][1][1]])
        header = json.loads(path.read_bytes()[8:8 + struct.unpack_from("<Q", path.read_bytes())[0]])
        self.assertEqual(header["__metadata__"], {"format": "amphora-imatrix", "version": "1", "tokens": "5"})
        self.ok("convert", source, "-o", self.folder / "out.cmf", "--quant", "q4t", "--imatrix", path)

    def test_threads_and_kernels_change_nothing(self):
        source = self.converted("llama", "q8")
        tokens = self.folder / "ids.txt"
        tokens.write_text(",".join(str(i * 37 % 500) for i in range(150)))
        path = self.folder / "x.imatrix"
        files = set()
        for options in [("--threads", 1), ("--threads", 3), ("--threads", 2, "--kernels", "scalar")]:
            self.ok("ppl", source, "--tokens-file", tokens, "--imatrix-out", path, "-q", *options)
            files.add(path.read_bytes())
        self.assertEqual(len(files), 1)

    def test_what_cannot_be_written_is_refused_and_the_model_is_safe(self):
        source = self.converted("llama")
        before = source.read_bytes()
        tokens = self.folder / "ids.txt"
        tokens.write_text("1,2,3")
        self.refused(3, "ppl", source, "--tokens-file", tokens, "--imatrix-out", self.folder / "none" / "x")
        self.refused(2, "ppl", source, "--tokens-file", tokens, "--imatrix-out", source, words=["being read"])
        tokens.write_text("1")
        self.refused(2, "ppl", source, "--tokens-file", tokens, "--imatrix-out", self.folder / "x.imatrix")
        self.assertEqual(source.read_bytes(), before)
        self.assertEqual(self.files(), ["ids.txt", source.name])


def width_of(level, mean, budget):
    return min((3, 4, 5, 6, 8), key=lambda width: (abs(level - mean + budget - width), width))


class Budgets(Quantise):
    def levels(self, path, name, shape):
        values = self.tensors(path, "--filter", f"^{name}$", "--values", shape[0] * shape[1])[name]["values"]
        return [max(map(abs, values[row * shape[1]:(row + 1) * shape[1]])) for row in range(shape[0])]

    def expected_bytes(self, source, families, budget, weight=lambda name: 1):
        """Payload bytes of every tensor of the families (lists of names) by the rule of the format."""
        shapes = {name: row["shape"] for name, row in self.tensors(source).items()}
        expected = {}
        for family in families:
            levels = {name: [math.log2(max(peak, 2 ** -24) * weight(name) or 2 ** -24) for peak in self.levels(source, name, shapes[name])]
                      for name in family}
            every = [level for row in levels.values() for level in row]
            mean = sum(every) / len(every)
            for name in family:
                rows, columns = shapes[name]
                packed = sum(width_of(level, mean, budget) * columns // 8 for level in levels[name])
                expected[name] = rows + rows * columns // 32 * 2 + packed
        return expected

    def test_sizes_follow_the_rule_and_the_dry_run_knows_them(self):
        source = self.converted("qwen3", "f32")
        names = [name for name, row in self.tensors(source).items() if name.endswith("_proj.weight")]
        for option, budget in [("vbit", 4.25), ("vbit:5.5", 5.5), ("vbit:3", 3)]:
            out = self.folder / "out.cmf"
            dry = self.ok("convert", source, "--quant", option, "--dry-run", "--json").json()
            report = self.ok("convert", source, "-o", out, "--quant", option, "--json").json()
            self.ok("verify", out)
            self.assertEqual(dry["tensors"], report["tensors"])
            self.assertEqual(report["nominal_bits"], budget + 0.5 + 8 / 4096)
            found = {row["name"]: row["nbytes"] for row in report["tensors"]}
            expected = self.expected_bytes(source, [[name] for name in names], budget)
            self.assertEqual({name: found[name] for name in names}, expected)
            written = self.tensors(out)
            self.assertEqual({name: written[name]["nbytes"] for name in names}, expected)

    def test_budgets_out_of_range_are_usage(self):
        for option in ["vbit:2.9", "vbit:8.1", "vbit:", "vbit:nan", "q8:4"]:
            self.refused(2, "convert", DATA / "base-model", "--dry-run", "--quant", option)
            self.refused(2, "convert", DATA / "base-model", "--dry-run", "--quant-rule", f"mlp={option}")

    def test_rules_have_budgets_of_their_own(self):
        rows = self.ok("convert", DATA / "base-model", "--dry-run", "--json", "--quant", "q8", "--quant-rule",
                       "down_proj=vbit:3", "--quant-rule", "up_proj=vbit_ro:8").json()["tensors"]
        types = {(row["name"].split(".")[-2], row["dtype"]) for row in rows if row["name"].endswith("_proj.weight")}
        self.assertIn(("down_proj", "vbit"), types)
        self.assertIn(("up_proj", "vbit_ro"), types)
        self.assertIn(("gate_proj", "q8_row"), types)

    def test_experts_share_a_mean_and_busy_ones_get_more(self):
        source = DATA / "cmf" / "arch_qwen3_moe_f16.cmf"
        rows = self.tensors(source)
        experts = [name for name in rows if ".mlp.experts." in name]
        layers = sorted({name.split(".")[2] for name in experts})
        count = 1 + max(int(name.split(".")[5]) for name in experts)
        stats = json.loads((DATA / "cmf" / "moe_stats.json").read_text())
        self.assertEqual((sorted(stats), {len(counts) for counts in stats.values()}), (layers, {count}))
        families = [[name for name in experts if name.split(".")[2] == layer and f".{projection}_proj." in name]
                    for layer in layers for projection in ["gate", "up", "down"]]

        def frequency(name):
            counts = stats[name.split(".")[2]]
            return counts[int(name.split(".")[5])] / (sum(counts) / len(counts))

        for options, weight in [((), lambda name: 1), (("--route-stats", DATA / "cmf" / "moe_stats.json"), frequency)]:
            found = {row["name"]: row["nbytes"] for row in self.ok(
                "convert", source, "-o", self.folder / "out.cmf", "--quant", "vbit", "--json", *options).json()["tensors"]}
            self.ok("verify", self.folder / "out.cmf")
            # An expert that was never chosen has the floor as its level.
            self.assertEqual({name: found[name] for name in experts},
                             self.expected_bytes(source, families, 4.25, weight))
        loudest, quietest = "model.layers.0.mlp.experts.7.up_proj.weight", "model.layers.0.mlp.experts.4.up_proj.weight"
        self.assertGreater(found[loudest], found[quietest])

    def test_statistics_that_do_not_fit_are_refused(self):
        source = DATA / "cmf" / "arch_qwen3_moe_f16.cmf"
        path = self.folder / "stats.json"
        for text, word in [('{"0":[1,2]}', "2 experts"), ('{"0":[1,-2]}', '$.0[1]'), ('{"0":[NaN]}', ""),
                           ('{"0":[1e400]}', ""), ('{"9":[1,2,3,4,5,6,7,8]}', "layer 9"), ("[]", "object")]:
            path.write_text(text)
            self.refused(1, "convert", source, "-o", self.folder / "out.cmf", "--quant", "vbit", "--route-stats", path,
                         words=[word])
        path.write_text('{"0":[1,2,3,4,5,6,7,8]}')
        report = self.ok("convert", source, "--dry-run", "--quant", "vbit", "--route-stats", path, "--json").json()
        self.assertTrue(any("1 of 2 layers (1)" in note for note in report["notes"]))
        report = self.ok("convert", source, "--dry-run", "--quant", "q8", "--route-stats", path, "--json").json()
        self.assertTrue(any("no effect" in note for note in report["notes"]))
        self.refused(1, "convert", DATA / "base-model", "-o", self.folder / "out.cmf", "--quant", "vbit", "--route-stats",
                     path, words=["has none"])
        self.assertEqual(self.outputs(), [])


class WholeFiles(Quantise):
    def test_shards_hold_what_one_file_holds(self):
        whole = self.converted("llama", "f16")
        out = self.folder / "cut.cmf"
        report = self.ok("convert", DATA / "hf" / "tiny" / "llama", "-o", out, "--quant", "f16", "--shard-max-gb", "0.0001",
                         "--json").json()
        count = len(report["files"])
        self.assertGreater(count, 2)
        self.assertEqual([path.rsplit("/", 1)[-1] for path in report["files"]],
                         [f"cut-{no:05}-of-{count:05}.cmf" for no in range(1, count + 1)])
        self.assertEqual(report["file_bytes"], sum((self.folder / path).stat().st_size for path in report["files"]))
        self.ok("verify", *report["files"])
        wanted = self.ok("logits", whole, "--tokens", "1,2,3", "--json", "--all").json()
        self.assertEqual(self.ok("logits", report["files"][-1], "--tokens", "1,2,3", "--json", "--all").json(), wanted)

    def test_limits_that_are_no_sizes_are_usage(self):
        for limit in ["0", "-1", "nan", "inf", "x", "", "1GB", "1e-10", "1e300"]:
            self.refused(2, "convert", DATA / "base-model", "-o", self.folder / "out.cmf", f"--shard-max-gb={limit}")
        self.assertEqual(self.outputs(), [])

    def test_the_index_is_carried_or_built(self):
        source = DATA / "cmf" / "masks_dense.cmf"
        for options in [(), ("--write-index",)]:
            out = self.folder / "out.cmf"
            self.ok("convert", source, "-o", out, "--quant", "q8", *options)
            self.ok("verify", out)
            sections = []
            for path in [source, out]:
                data = path.read_bytes()
                sections.append([data[offset:offset + length] for offset, length in
                                 [struct.unpack_from("<QQ", data, at) for at in (0x40, 0x60)]])
            self.assertEqual(*sections)
        self.refused(1, "convert", DATA / "base-model", "-o", self.folder / "no.cmf", "--write-index", words=["no task masks"])
        self.assertEqual(self.outputs(), ["out.cmf"])

    def test_a_skill_file_can_be_quantised_again(self):
        out = self.folder / "out.cmf"
        self.ok("convert", DATA / "cmf" / "skill_file.cmf", "-o", out, "--quant", "q4t")
        self.ok("verify", out)
        self.refused(4, "run", out, "-p", "x", "-q", words=["skill file"])


if __name__ == "__main__":
    harness.main()
