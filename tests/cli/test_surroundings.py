"""Odd surroundings: outputs that cannot be written, pipes, devices, few threads, signals, hostile names."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time

import harness
from harness import DATA, run

MODEL = DATA / "hf" / "tiny" / "llama"


class Surroundings(harness.CommandLineTest):
    def shell(self, command):
        return subprocess.run(["bash", "-c", command, "bash", harness.PROGRAM, str(MODEL), str(self.folder)],
                              capture_output=True, timeout=60)

    def test_output_that_is_lost_is_status_3(self):
        for arguments in ['"$1" --version', '"$1" help', '"$1" completion bash', '"$1" logits "$2" --tokens 1 --json',
                          '"$1" run "$2" --raw -p x --max-tokens 2 --json', '"$1" info "$2"', '"$1" doctor --no-measure']:
            self.assertEqual(self.shell(f"{arguments} > /dev/full").returncode, 3, arguments)
            self.assertEqual(self.shell(f"{arguments} >&-").returncode, 3, arguments)

    def test_errors_that_cannot_be_shown_keep_their_status(self):
        self.assertEqual(self.shell('"$1" info "$3/none" 2>&-').returncode, 3)
        self.assertEqual(self.shell('"$1" nope 2>/dev/full').returncode, 2)
        self.assertEqual(self.shell('"$1" info "$3/none" <&- >&- 2>&-').returncode, 3)

    def test_only_regular_files_are_replaced_or_read_as_models(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused(3, "convert", MODEL, "-o", pipe, words=["pipe"])
        for arguments in [("verify", pipe), ("tensors", pipe), ("tokenize", MODEL, "--file", pipe), ("run", MODEL, "-f", pipe)]:
            self.refused(3, *arguments, timeout=30)
        for arguments in [("info", pipe), ("run", pipe, "-p", "x")]:
            self.assertIn(run(*arguments, timeout=30).status, (3, 4))
        self.assertTrue(pipe.is_fifo())

    def test_endless_standard_input_is_refused_at_a_limit(self):
        result = self.shell('"$1" tokenize "$2" --file - < /dev/zero')
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"limit", result.stderr)
        self.assertEqual(self.shell('"$1" tokenize "$2" --file - < /').returncode, 3)

    def test_fewer_threads_than_asked_for_still_answer(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        command = [harness.PROGRAM, "logits", MODEL, "--tokens", "1,2", "--json", "--top", "3", "--threads", "64"]
        limited = subprocess.run(command, capture_output=True, preexec_fn=limit, timeout=60)
        self.assertEqual(limited.returncode, 0, limited.stderr)
        self.assertEqual(limited.stdout, run(*command[1:]).out)

    def test_a_full_disk_names_the_file(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        out = self.folder / "out.cmf"
        result = subprocess.run([harness.PROGRAM, "convert", MODEL, "-o", out], capture_output=True, preexec_fn=limit, timeout=60)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(b"out.cmf", result.stderr)
        self.assertEqual(self.files(), [])

    def test_names_cannot_command_the_terminal(self):
        source = self.folder / "source"
        shutil.copytree(DATA / "hf" / "tiny" / "llama_sharded", source)
        (source / "x\x1b]0;owned\x07\nsecond line\x7f.safetensors").write_bytes(b"")
        result = self.ok("convert", source, "-o", self.folder / "out.cmf")
        self.assertIn(b"\\x1b]0;owned\\x07\\x0asecond line\\x7f", result.err)
        self.assertNotIn(b"\x1b", result.err + result.out)

    def test_names_that_are_not_utf8(self):
        source = os.fsencode(self.folder) + b"/b\xffd"
        shutil.copytree(os.fsencode(MODEL), source)
        out = os.fsencode(self.folder) + b"/o\xff.cmf"
        process = subprocess.run([harness.PROGRAM, "convert", source, "-o", out, "--json"], capture_output=True, timeout=60)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("o\ufffd.cmf", json.loads(process.stdout)["file"])
        self.assertEqual(subprocess.run([harness.PROGRAM, "verify", out], capture_output=True, timeout=60).returncode, 0)

    def test_a_mapped_file_that_shrinks_is_said_and_no_crash(self):
        path = self.folder / "model.cmf"
        self.ok("convert", DATA / "base-model", "-o", path, "--quant", "f32", "-q")
        process = subprocess.Popen([harness.PROGRAM, "run", path, "--raw", "-p", "x", "--ignore-eos", "--temp", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(20)  # it is answering: the file is mapped
        os.truncate(path, 5000)
        err = process.communicate(timeout=120)[1]
        self.assertEqual((process.returncode, err), (3, b"amphora: a file became shorter while it was being read\n"))

    def test_interrupts_end_every_verb_with_130(self):
        path = self.converted("llama", "q8")
        text = self.folder / "text"
        text.write_text("some words " * 4000)
        for arguments in [("bench", path, "--repeat", 1000), ("ppl", path, text),
                          ("run", path, "--raw", "-p", "x", "--ignore-eos", "--ctx", 1000000)]:
            process = subprocess.Popen([harness.PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=60)[1]
            self.assertIn(process.returncode, (0, 130), (arguments, err))

    def test_prompts_that_are_not_text_are_refused(self):
        process = subprocess.run([harness.PROGRAM, "run", MODEL, "--raw", "-p", b"bad\xff"], capture_output=True, timeout=60)
        self.assertEqual((process.returncode, process.stderr.count(b"\n")), (2, 1))

    def test_contradicting_options_are_refused(self):
        for options in [("--raw", "--system", "x"), ("--raw", "--chat-template", "chatml"), ("--parse-special",),
                        ("--seed", "-1"), ("--seed", "18446744073709551616"), ("--seed", "0x1")]:
            self.refused(2, "run", MODEL, "-p", "x", "--max-tokens", 1, *options)
        self.refused(2, "logits", MODEL, "--tokens", "1", "--all")
        self.refused(2, "detokenize", MODEL, "512", words=["512"])


if __name__ == "__main__":
    harness.main()
