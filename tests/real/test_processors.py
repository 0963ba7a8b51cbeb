"""Other machines than this one: an old processor under emulation, fewer processors than the machine has."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import harness  # noqa: E402
from harness import DATA  # noqa: E402

MODEL = DATA / "cmf" / "moe_defrag.cmf"
RUN = ("logits", MODEL, "--tokens", "1,2,3", "--greedy", "16", "--json", "--threads", "2")


def facts_of(output):
    return dict(line.split(None, 1) for line in output.splitlines() if " " in line)


class OldProcessor(harness.CommandLineTest):
    # x86-64-v2: SSE 4.2, no AVX. A program with one newer instruction outside a chosen kernel ends with SIGILL there.
    EMULATOR = ("qemu-x86_64", "-cpu", "Nehalem")

    def emulated(self, *arguments):
        self.assertTrue(shutil.which(self.EMULATOR[0]), "needs qemu-x86_64: install the Debian package qemu-user (scripts/setup.sh --tests)")
        done = subprocess.run([*self.EMULATOR, harness.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_runs_with_the_results_of_this_one(self):
        self.assertIn("amphora", self.emulated("--version"))
        facts = facts_of(self.emulated("doctor", "--no-measure"))
        self.assertEqual(facts["kernels"].strip(), "scalar")
        self.assertIn("avx2 (not here)", facts["kernel_variants"])
        self.assertEqual(self.emulated(*RUN).encode(), self.ok(*RUN).out)

    def test_refuses_kernels_that_it_cannot_run(self):
        done = subprocess.run([*self.EMULATOR, harness.PROGRAM, *map(str, RUN), "--kernels", "avx2"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(len(done.stderr.splitlines()), 1)


class FewerProcessors(harness.CommandLineTest):
    def test_threads_are_those_of_the_cpuset(self):
        allowed = sorted(os.sched_getaffinity(0))
        for count in range(1, min(len(allowed), 4) + 1):
            done = subprocess.run([harness.PROGRAM, "doctor", "--no-measure"], capture_output=True, text=True, check=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, allowed[-count:]))
            threads = int(facts_of(done.stdout)["threads"])
            self.assertLessEqual(threads, count)  # a quota of the container may allow still fewer
            self.assertGreaterEqual(threads, 1)
        self.refused(2, *RUN[:-1], "0")


if __name__ == "__main__":
    harness.main()
