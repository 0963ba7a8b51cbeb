"""Bad input: every verb says one clear line, gives a non-zero status and leaves nothing behind."""

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import harness
from harness import DATA, run

TINY = DATA / "hf" / "tiny" / "llama"


def safetensors(tensors):
    """Bytes of a safetensors file: {name: (dtype, shape, bytes)}."""
    header, data = {}, b""
    for name, (dtype, shape, payload) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(payload)]}
        data += payload
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class BadInput(harness.CommandLineTest):
    def source(self, base=TINY, **config):
        """A copy of a Hugging Face directory with keys of its config.json replaced (None: removed)."""
        path = self.folder / "source"
        shutil.copytree(base, path, dirs_exist_ok=True)
        settings = json.loads((path / "config.json").read_text())
        for key, value in config.items():
            settings.pop(key, None)
            if value is not None:
                settings[key] = value
        (path / "config.json").write_text(json.dumps(settings))
        return path

    def verbs_on(self, path):
        """Every verb that opens a model file, as arguments."""
        out = self.folder / "out.cmf"
        return [("info", path), ("tensors", path), ("verify", path), ("convert", path, "-o", out), ("run", path, "-p", "x"),
                ("tokenize", path, "x"), ("logits", path, "--tokens", "1"), ("bench", path),
                ("ppl", path, "--tokens-file", self.ids)]

    def setUp(self):
        super().setUp()
        self.ids = self.folder / "ids"
        self.ids.write_text("1,2,3")

    def check_refused(self, path, statuses=(1,)):
        before = self.files()
        for arguments in self.verbs_on(path):
            result = run(*arguments)
            with self.subTest(verb=arguments[0], path=path.name):
                if arguments[0] == "verify" and result.status == 1:  # its finding is its result, on stdout
                    self.assertIn(b"INVALID", result.out, str(result))
                else:
                    self.assertIn(result.status, statuses, str(result))
                    self.assertEqual(result.err.count(b"\n"), 1, str(result))
                self.assertEqual(self.files(), before)

    def test_truncated_and_foreign_files(self):
        whole = self.converted("llama", "q8").read_bytes()
        gguf = (DATA / "gguf" / "llama_f32.gguf").read_bytes()
        tensors = (TINY / "model.safetensors").read_bytes()
        cases = {"cut10.cmf": whole[:10], "header.cmf": whole[:300], "half.cmf": whole[:len(whole) // 2],
                 "last.cmf": whole[:-1], "empty.cmf": b"", "text.cmf": b"hello, world\n" * 50, "zeros.cmf": bytes(5000),
                 "cut10.gguf": gguf[:10], "header.gguf": gguf[:500], "half.gguf": gguf[:len(gguf) // 2],
                 "last.gguf": gguf[:-1], "weights.safetensors": tensors}
        for name, content in cases.items():
            path = self.folder / name
            path.write_bytes(content)
            self.check_refused(path, statuses=(1, 4))
            path.unlink()

    def test_truncated_safetensors_inside_a_directory(self):
        tensors = (TINY / "model.safetensors").read_bytes()
        for kept in [0, 7, 10, 400, len(tensors) // 2, len(tensors) - 1]:
            source = self.source()
            (source / "model.safetensors").write_bytes(tensors[:kept])
            before = self.files()
            self.refused(1, "convert", source, "-o", self.folder / "out.cmf", words=["model.safetensors"])
            self.refused(1, "run", source, "-p", "x")
            self.assertEqual(self.files(), before)

    def test_a_directory_that_is_no_model(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn(run("convert", empty, "-o", self.folder / "out.cmf").status, (1, 3))
        self.assertEqual(run("verify", empty).status, 3)
        self.assertEqual(run("tensors", empty).status, 3)

    def test_a_missing_shard_is_named_before_any_work(self):
        source = self.source(DATA / "hf" / "tiny" / "llama_sharded")
        shards = sorted(path.name for path in source.glob("model-*.safetensors"))
        (source / shards[1]).unlink()
        before = self.files()
        result = run("convert", source, "-o", self.folder / "out.cmf")
        self.assertIn(result.status, (1, 3), str(result))
        self.assertIn(shards[1].encode(), result.err)
        self.assertEqual(self.files(), before)

    def test_an_unsupported_architecture_is_refused_by_name(self):
        source = self.source(architectures=["MambaForCausalLM"], model_type="mamba")
        self.refused(4, "convert", source, "-o", self.folder / "out.cmf", words=["Mamba"])
        self.refused(4, "run", source, "-p", "x", words=["Mamba"])

    def test_an_unknown_rope_kind_is_refused_by_name(self):
        source = self.source(rope_parameters={"rope_type": "foo", "rope_theta": 10000.0})
        self.refused(4, "convert", source, "-o", self.folder / "out.cmf", words=["foo"])

    def test_an_already_quantised_source_is_refused_by_name(self):
        source = self.source(quantization_config={"quant_method": "gptq", "bits": 4})
        self.refused(4, "convert", source, "-o", self.folder / "out.cmf", words=["gptq"])

    def test_absurd_numbers_are_refused(self):
        for key, value in [("num_hidden_layers", 2**31), ("num_attention_heads", 0), ("head_dim", 2**40),
                           ("vocab_size", -1), ("hidden_size", "64"), ("rms_norm_eps", "1e-5"), ("num_key_value_heads", 3)]:
            source = self.source(**{key: value})
            result = run("convert", source, "-o", self.folder / "out.cmf")
            with self.subTest(key=key):
                self.assertIn(result.status, (1, 4), str(result))
                self.assertEqual(result.err.count(b"\n"), 1, str(result))
                self.assertIn(key.encode(), result.err)

    def test_nan_and_infinity_name_their_tensor(self):
        for bad in [b"\x00\x00\xc0\x7f", b"\x00\x00\x80\xff"]:
            source = self.source()
            tensors = bytearray((source / "model.safetensors").read_bytes())
            header_bytes = struct.unpack("<Q", tensors[:8])[0]
            header = json.loads(tensors[8:8 + header_bytes])
            name = "model.layers.1.mlp.up_proj.weight"
            at = 8 + header_bytes + header[name]["data_offsets"][0] + 4 * 77
            tensors[at:at + 4] = bad
            (source / "model.safetensors").write_bytes(tensors)
            before = self.files()
            for quant in ["q8", "f16", "q4t", "f32"]:
                self.refused(1, "convert", source, "-o", self.folder / "out.cmf", "--quant", quant, words=[name, "77"])
            self.assertEqual(self.files(), before)

    def test_a_conversion_says_whether_its_result_can_run(self):
        result = self.ok("convert", DATA / "gguf" / "llama_f32.gguf", "-o", self.folder / "out.cmf")
        self.assertNotIn(b"cannot run", result.err)  # the GGUF's own types do not, the result does
        result = self.ok("convert", self.source(vocab_size=511), "-o", self.folder / "out.cmf")
        self.assertIn(b"cannot run", result.err)
        self.assertIn(b"511", result.err)

    def test_unused_and_missing_tensors_are_named(self):
        source = self.source()
        tensors = (source / "model.safetensors").read_bytes()
        header_bytes = struct.unpack("<Q", tensors[:8])[0]
        header = json.loads(tensors[8:8 + header_bytes])
        header.pop("__metadata__", None)
        payload = {name: (entry["dtype"], entry["shape"], tensors[8 + header_bytes + entry["data_offsets"][0]:
                                                                   8 + header_bytes + entry["data_offsets"][1]])
                   for name, entry in header.items()}
        extra = dict(payload, **{"model.layers.0.mystery.weight": ("F32", [2], bytes(8))})
        (source / "model.safetensors").write_bytes(safetensors(extra))
        self.assertIn(b"mystery", run("run", source, "-p", "x").err)
        self.assertNotEqual(run("run", source, "-p", "x").status, 0)
        del payload["model.layers.2.mlp.down_proj.weight"]
        (source / "model.safetensors").write_bytes(safetensors(payload))
        result = run("run", source, "-p", "x")
        self.assertEqual(result.status, 1, str(result))
        self.assertIn(b"model.layers.2.mlp.down_proj.weight", result.err)

    def test_every_flipped_byte_of_a_converted_file_is_caught(self):
        """A sample over the whole file through the program; the unit tests flip every byte of a small one."""
        path = self.converted("llama", "q8")
        whole = path.read_bytes()
        generator = random.Random(5)
        places = list(range(0, 128)) + sorted(generator.sample(range(128, len(whole)), 150))
        for place in places:
            damaged = bytearray(whole)
            damaged[place] ^= 1 << generator.randrange(8)
            path.write_bytes(damaged)
            report = run("verify", path, "--json").json()
            self.assertTrue(not report["valid"] or report["findings"], f"byte {place} went unnoticed")

    def test_a_conversion_killed_at_any_point_leaves_nothing(self):
        out = self.folder / "out.cmf"
        command = [harness.PROGRAM, "convert", DATA / "base-model", "-o", out, "--quant", "q8"]
        start = time.monotonic()
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        whole_run = time.monotonic() - start
        expected = out.read_bytes()
        generator = random.Random(11)
        for how in [signal.SIGKILL, signal.SIGTERM, signal.SIGINT] * 8:
            out.unlink(missing_ok=True)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(generator.random() * whole_run)
            process.send_signal(how)
            status = process.wait()
            if out.exists():
                self.assertEqual(out.read_bytes(), expected)
            else:
                self.assertIn(status, (130, -how))  # -how: before the program looked after signals
            self.assertEqual([name for name in self.files() if name not in ("out.cmf", "ids")], [])

    def test_an_older_file_survives_a_refused_conversion(self):
        out = self.folder / "out.cmf"
        out.write_bytes(b"precious")
        self.assertNotEqual(run("convert", self.folder / "nothing", "-o", out).status, 0)
        source = self.source(rope_parameters={"rope_type": "foo", "rope_theta": 10000.0})
        self.assertNotEqual(run("convert", source, "-o", out).status, 0)
        self.assertEqual(out.read_bytes(), b"precious")

    def test_memory_stays_bounded_on_a_file_that_claims_much(self):
        gguf = b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60)
        path = self.folder / "claims.gguf"
        path.write_bytes(gguf + bytes(100))
        process = subprocess.Popen([harness.PROGRAM, "info", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 1)
        self.assertLess(usage.ru_maxrss, 300 * 1024)  # the sanitizers' own memory included


if __name__ == "__main__":
    harness.main()
