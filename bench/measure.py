"""Runs amphora and llama.cpp for bench/targets.py and measures what they do (standard library only)."""

import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

POLL_SECONDS = 0.005
DEPTH = 128  # tokens of context before those whose decoding is timed
BUSY_LOOP = """
import os, sys
print(flush=True)
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}

Run = collections.namedtuple("Run", "output errors seconds resident_bytes")
Peak = collections.namedtuple("Peak", "private_bytes sizes")


class Failed(Exception):
    """A program ended with another status than 0, or did not say what it was asked for."""


def refuse_failure(command, status, errors):
    if status != 0:
        said = errors.decode(errors="replace").strip().splitlines()
        raise Failed(f"{' '.join(command)} ended with status {status}" + (f": {said[-1]}" if said else ""))


def run_measured(command):
    """A whole process: what it printed, wall seconds and peak resident bytes."""
    command = [str(part) for part in command]
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.stdout.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        run = Run(output, errors.read(), seconds, usage.ru_maxrss * 1024)
    refuse_failure(command, process.returncode, run.errors)
    return run


def run_json(command):
    return json.loads(run_measured(command).output)


def in_turn(rounds, tasks):
    """Every task once a round, in their order; name -> what it gave, round by round."""
    results = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            results[name].append(task())
    return results


def our_speed(amphora, model, threads, kind, tokens, *options):
    """The row of `amphora bench` for decoding or prefilling `tokens`."""
    lengths = ["--prompt", tokens, "--gen", 0] if kind == "prefill" else ["--prompt", 16, "--depth", DEPTH, "--gen", tokens]
    rows = run_json([amphora, "bench", model, "--json", "--repeat", 1, "--threads", threads, *lengths, *options])
    for row in rows:
        if row["kind"] == kind and row["n"] == tokens:
            return row
    raise Failed(f"amphora bench {model} printed no row for {kind} of {tokens} tokens")


def peer_speed(peer, model, threads, kind, tokens):
    """The same of llama-bench; only tps_median is there."""
    lengths = ["-p", tokens, "-n", 0] if kind == "prefill" else ["-p", 0, "-d", DEPTH, "-n", tokens]
    rows = run_json([peer / "llama-bench", "-m", model, "-o", "json", "-r", 1, "-t", threads, *lengths])
    return {"tps_median": rows[0]["avg_ts"]}


def reported_sizes(text):
    """The sizes in the last line of `run --stats`, by name: {"copied": 224e6, ...}."""
    line = text.decode(errors="replace").strip().rpartition("\n")[2]
    found = re.findall(r"[(,] ?([a-z ]+) ([\d.]+) (B|kB|MB|GB)\b", line)
    return {name: float(number) * UNITS[unit] for name, number, unit in found}


def private_peak(command):
    """The most private memory (RssAnon) that the process was seen to have, and the sizes of its --stats."""
    command = [str(part) for part in command]
    peak = 0
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, stdin=subprocess.DEVNULL)
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as status:
            while process.poll() is None:
                status.seek(0)
                with contextlib.suppress(ProcessLookupError):  # it may end between the two
                    found = re.search(r"^RssAnon:\s*(\d+) kB", status.read(), re.MULTILINE)
                    peak = max(peak, int(found[1]) * 1024 if found else 0)
                time.sleep(POLL_SECONDS)
        errors.seek(0)
        said = errors.read()
    refuse_failure(command, process.returncode, said)
    return Peak(peak, reported_sizes(said))


@contextlib.contextmanager
def busy_core():
    """Another process keeps one core busy meanwhile. It ends by itself if this one does."""
    process = subprocess.Popen([sys.executable, "-c", BUSY_LOOP, str(os.getpid())], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        process.stdout.readline()  # it has begun
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def others_busy():
    """The share of the processors that others used during a second in which this program slept."""
    def ticks():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, idle, waiting, *rest = map(int, file.readline().split()[1:9])
        return user + nice + system + sum(rest), idle + waiting

    busy, idle = ticks()
    time.sleep(1)
    busy_later, idle_later = ticks()
    return (busy_later - busy) / max(1, busy_later - busy + idle_later - idle)


def read_through(path):
    """Brings a file into the page cache."""
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
