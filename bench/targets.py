"""Every speed target of this project in one run: amphora against llama.cpp, or against itself, in turn (standard library only).
Prints a table as it goes, then which targets are met and missed, and writes all of it as JSON. bench/targets.sh prepares the
programs and the files."""

import argparse
import datetime
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measure
import speculation
from measure import Failed, in_turn, run_json, run_measured
from results import Results, at_least, at_most, within

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORT_PROMPT = "The capital of France is"
GENERATED, PREFILLED = 64, 512
PEER_TYPES = ("Q8_0", "Q4_0")
# The peer's type of about the same bits follows ours, so that the two run one after the other.
DECODED = ["q8", "Q8_0", "q4t", "Q4_0", "q4", "f16", "bf16"]
OF_TYPES = [("q8_2f", "q8", 0.95), ("q4tp", "q4t", 0.95), ("vbit4.5", "q4t", 0.8), ("q1", "q4t", 1.2), ("q1t", "q4t", 1.2)]
SHARES = {"q8": 0.85, "f16": 0.85, "bf16": 0.85, "q4t": 0.70, "q4": 0.70}
PAIRS = [("q8", "Q8_0"), ("q4t", "Q4_0")]
ROOM_BYTES = 64 << 20  # beyond cache and scratch, for tokenizer, directory and program
TEXT_BYTES = 6500      # of docs/formats/cmf.md: about 2,000 tokens


class Bench:
    """What the sections share: programs, files, threads, and where the figures go."""

    def __init__(self, arguments, results):
        self.amphora, self.peer, self.work = arguments.amphora, arguments.peer, arguments.work
        self.rows, self.rounds, self.threads, self.results = arguments.rows, arguments.rounds, arguments.threads, results
        self.most_threads = max(arguments.threads)
        self.swept = {}

    def path(self, model, kind):
        """The file of a model in one of our types or the peer's."""
        path = self.work / f"{model}-{kind}.{'gguf' if kind in PEER_TYPES else 'cmf'}"
        if not path.is_file():
            raise Failed(f"{path} is missing: bench/targets.sh makes it")
        return path

    def speed(self, model, name, threads, kind, tokens):
        path = self.path(model, name)
        if name in PEER_TYPES:
            return measure.peer_speed(self.peer, path, threads, kind, tokens)
        return measure.our_speed(self.amphora, path, threads, kind, tokens)

    def speeds(self, model, names, threads, kind, tokens):
        """name -> a row for each round."""
        return in_turn(self.rounds, {name: lambda name=name: self.speed(model, name, threads, kind, tokens) for name in names})

    def decoded(self, model, threads):
        """Decode rows of all types that the chosen sections need: they share their rounds."""
        if (model, threads) not in self.swept:
            names = DECODED if "decode" in self.rows else []
            if "types" in self.rows:
                names = names + [name for pair in OF_TYPES for name in pair[:2]]
            self.swept[model, threads] = self.speeds(model, dict.fromkeys(names), threads, "decode", GENERATED)
        return self.swept[model, threads]


def rates(rows):
    return [row["tps_median"] for row in rows]


def against_peer(bench, section, what, model, threads, rows, target_8, target_4):
    """8 bits, both layouts of 4 bits, and the faster of these, which is the one that counts."""
    results = bench.results
    results.add(section, f"{what}, q8 / Q8_0, tok/s", model, threads, rates(rows["q8"]), rates(rows["Q8_0"]), target_8)
    for name in ("q4t", "q4"):
        results.add(section, f"{what}, {name} / Q4_0, tok/s", model, threads, rates(rows[name]), rates(rows["Q4_0"]))
    better = max(("q4t", "q4"), key=lambda name: statistics.median(rates(rows[name])))
    results.add(section, f"{what}, better of q4t, q4", model, threads, rates(rows[better]), rates(rows["Q4_0"]), target_4, note=better)


def decode(bench, model):
    for threads in bench.threads:
        rows = bench.decoded(model, threads)
        target = at_least(1.7 if threads == 1 else 1.5)
        against_peer(bench, "decode", f"decode {GENERATED}", model, threads, rows, target, target)
        for name, share in SHARES.items():
            title, target = f"share of bandwidth, {name}, GB/s", at_least(share)
            if all(row.get(key) is not None for row in rows[name] for key in ("gbps", "read_gbps", "share")):
                gbps, read_gbps, shares = ([row[key] for row in rows[name]] for key in ("gbps", "read_gbps", "share"))
                bench.results.add("decode", title, model, threads, gbps, read_gbps, target, shares)
            else:
                bench.results.add_missing("decode", title, model, threads, target, "amphora bench does not report it")


def prefill(bench, model):
    for threads in bench.threads:
        rows = bench.speeds(model, ["q8", "Q8_0", "q4t", "Q4_0", "q4"], threads, "prefill", PREFILLED)
        targets = (at_least(1.7), at_least(2.0)) if threads > 1 else (None, None)
        against_peer(bench, "prefill", f"prefill {PREFILLED}", model, threads, rows, *targets)


def types(bench, model):
    for threads in bench.threads:
        rows = bench.decoded(model, threads)
        for name, reference, bound in OF_TYPES:
            bench.results.add("types", f"decode, {name} / {reference}, tok/s", model, threads, rates(rows[name]), rates(rows[reference]),
                              at_least(bound) if threads > 1 else None)


def start(bench, model):
    for mine, theirs in PAIRS:
        ours = [bench.amphora, "run", bench.path(model, mine), "--raw", "-p", SHORT_PROMPT, "--max-tokens", 1, "--quiet",
                "--threads", bench.most_threads]
        peers = [bench.peer / "llama-completion", "-m", bench.path(model, theirs), "-p", SHORT_PROMPT, "-n", 1, "-no-cnv",
                 "--no-warmup", "-t", bench.most_threads]
        tasks = {"ours": lambda ours=ours: run_measured(ours), "peer": lambda peers=peers: run_measured(peers)}
        in_turn(1, tasks)  # brings the files into the page cache
        runs = in_turn(bench.rounds, tasks)
        resident = {who: statistics.median(run.resident_bytes for run in of) / 1e6 for who, of in runs.items()}
        bench.results.add("start", f"whole process, {mine} / {theirs}, s", model, bench.most_threads,
                          [run.seconds for run in runs["ours"]], [run.seconds for run in runs["peer"]], at_most(0.5),
                          note=f"peak resident {resident['ours']:.0f} and {resident['peer']:.0f} MB")


def busy(bench, model):
    if (os.cpu_count() or 1) < 2:
        raise Failed("needs two cores")

    def beside_a_loop(name):
        with measure.busy_core():
            return bench.speed(model, name, 2, "decode", GENERATED)

    for pair in PAIRS:
        tasks = {(name, False): lambda name=name: bench.speed(model, name, 2, "decode", GENERATED) for name in pair}
        tasks |= {(name, True): lambda name=name: beside_a_loop(name) for name in pair}
        rows = in_turn(bench.rounds, tasks)
        for name in pair:
            bench.results.add("busy", f"decode, {name}, busy / quiet, tok/s", model, 2, rates(rows[name, True]), rates(rows[name, False]),
                              None if name in PEER_TYPES else at_least(0.4), note="the peer" if name in PEER_TYPES else "")


def memory(bench, model):
    results = bench.results
    for name in ("q8", "q4t"):
        path = bench.path(model, name)
        run = [bench.amphora, "run", path, "--raw", "-p", SHORT_PROMPT, "--max-tokens", GENERATED, "--ignore-eos", "--stats",
               "--threads", bench.most_threads]
        peaks = in_turn(bench.rounds, {"mmap": lambda run=run: measure.private_peak(run + ["--mmap"]),
                                       "copy": lambda run=run: measure.private_peak(run)})
        if not all("cache" in peak.sizes for peak in peaks["mmap"]):
            raise Failed("run --stats does not report the size of the cache")
        note = "" if all("scratch" in peak.sizes for peak in peaks["mmap"]) else "scratch is not reported: taken as 0"
        limits = [peak.sizes["cache"] + peak.sizes.get("scratch", 0) + ROOM_BYTES for peak in peaks["mmap"]]
        copied = [peak.sizes.get("copied", 0) for peak in peaks["copy"]]
        for title, private, limit in [
                (f"private, {name}, --mmap, MB", [peak.private_bytes for peak in peaks["mmap"]], limits),
                (f"private, {name}, with a copy, MB", [peak.private_bytes for peak in peaks["copy"]],
                 [limit + size for limit, size in zip(limits, copied)]),
                (f"copy / file, {name}, MB", copied, [path.stat().st_size] * bench.rounds)]:
            bound = 1.25 if title.startswith("copy") else 1
            results.add("memory", title, model, bench.most_threads, [size / 1e6 for size in private], [size / 1e6 for size in limit],
                        at_most(bound), note=note if bound == 1 else "")
        for threads in bench.threads:
            rows = in_turn(bench.rounds, {
                way: lambda path=path, threads=threads, options=options:
                measure.our_speed(bench.amphora, path, threads, "decode", GENERATED, *options)
                for way, options in [("mmap", ["--mmap"]), ("copy", [])]})
            results.add("memory", f"decode, {name}, --mmap / copy, tok/s", model, threads, rates(rows["mmap"]), rates(rows["copy"]),
                        at_least(0.8))


def speculate(bench, title, model_name, model, prompt, way, target):
    settings = argparse.Namespace(amphora=bench.amphora, tokens=256, rounds=bench.rounds, threads=1)
    found = speculation.compare(settings, model, prompt, way)
    if not found["same_text"]:
        raise Failed(f"{title}: the text differs between runs with and without --speculative {way}")
    bench.results.add("speculation", f"{title}, tok/s", model_name, 1, found["guessed"], found["plain"], at_least(target),
                      note=f"{found['accepted']} of {found['drafted']} guesses right, same text")


def speculation_of_model(bench, model):
    path = bench.path(model, "q8")
    speculate(bench, "n-gram, text that repeats", model, path, speculation.REPEATING, "ngram", 1.5)
    speculate(bench, "n-gram, text that does not", model, path, speculation.PLAIN, "ngram", 0.95)


def speculation_of_random_model(bench):
    with tempfile.TemporaryDirectory() as work:
        path = speculation.random_q8(argparse.Namespace(amphora=bench.amphora), pathlib.Path(work))
        speculate(bench, "random predictor", "random", path, speculation.PLAIN, "mtp", 0.95)


def conversion(bench, model):
    source, threads = bench.work / f"{model}-f16.gguf", 2
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        folder = pathlib.Path(folder)

        def timed(out, command):
            os.sync()  # nobody pays for what another one wrote
            run = run_measured(command)
            out.unlink()
            return run

        def ours(encoder):
            out = folder / "ours.cmf"
            return timed(out, [bench.amphora, "convert", source, "-o", out, "--quant", "q4t", "--encoder", encoder, "--threads", threads,
                               "--quiet"])

        def peers():
            out = folder / "peer.gguf"
            return timed(out, [bench.peer / "llama-quantize", source, out, "Q4_0", threads])

        measure.read_through(source)
        runs = in_turn(bench.rounds, {"plain": lambda: ours("plain"), "peer": peers, "search": lambda: ours("search")})
    seconds = {name: [run.seconds for run in of] for name, of in runs.items()}
    for encoder, bound in [("plain", 3), ("search", 1)]:
        times = [b / a for a, b in zip(seconds[encoder], seconds["peer"])]
        resident = max(run.resident_bytes for run in runs[encoder]) / 1e6
        bench.results.add("conversion", f"f16 to q4t, {encoder}, s", model, threads, seconds[encoder], seconds["peer"], at_least(bound),
                          times, f"the ratio is times as fast; peak resident {resident:.0f} MB")


def quality(bench, model):
    def perplexity(path, *options):
        return run_json([bench.amphora, "ppl", path, text, "--json", "--threads", bench.most_threads, *options])["ppl"]

    def bits(path):
        return run_json([bench.amphora, "info", path, "--json"])["bits_per_weight"]

    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        folder = pathlib.Path(folder)
        text = folder / "text.txt"
        source = (ROOT / "docs/formats/cmf.md").read_bytes()[:TEXT_BYTES]
        text.write_text(source.decode(errors="ignore"), encoding="utf-8")
        exact = {}
        for name in ("q8", "q4t", "q4", "q4tp"):
            path = bench.path(model, name)
            exact[name] = perplexity(path, "--exact")
            bench.results.add("quality", f"perplexity, {name}, fast / exact", model, bench.most_threads, [perplexity(path)], [exact[name]],
                              within(0.005))
        for theirs, ours in [("Q8_0", ["q8"]), ("Q4_0", ["q4t", "q4"])]:
            # Their blocks are not run where they lie; as f16 the weights lose next to nothing.
            unpacked = folder / "peer.cmf"
            run_measured([bench.amphora, "convert", bench.path(model, theirs), "-o", unpacked, "--quant", "f16", "--quiet"])
            reference = perplexity(unpacked, "--exact")
            unpacked.unlink()
            for name in ours:
                both = bits(bench.path(model, name)), bits(bench.path(model, theirs))
                bench.results.add("quality", f"perplexity, {name} / {theirs}", model, bench.most_threads, [exact[name]], [reference],
                                  note=f"exact, {both[0]:.3f} and {both[1]:.3f} bits per weight")


SECTIONS = {"decode": decode, "prefill": prefill, "types": types, "start": start, "busy": busy, "memory": memory,
            "speculation": speculation_of_model, "conversion": conversion, "quality": quality}


def run_section(bench, section, model, measured, *arguments):
    bench.results.begin(measure.others_busy())
    try:
        measured(bench, *arguments)
    except (Failed, OSError, subprocess.SubprocessError, ValueError) as error:
        bench.results.fail(section, model, error)


def counts(text):
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise argparse.ArgumentTypeError("thread counts start at 1")
    return [count for count in found if count <= (os.cpu_count() or 1)] or [1]


def names_of(known):
    def parse(text):
        found = text.split(",")
        if unknown := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"no {unknown[0]}; there are {', '.join(known)}")
        return found
    return parse


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "amphora"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amphora", type=pathlib.Path, default=ROOT / "build/release/amphora")
    parser.add_argument("--peer", type=pathlib.Path, required=True, help="folder of llama-bench, llama-completion and llama-quantize")
    parser.add_argument("--work", type=pathlib.Path, default=cache / "bench", help="folder of the models")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=counts, default="1,2", help="those that the machine does not have are left out")
    parser.add_argument("--models", type=names_of(["gemma", "qwen"]), default="gemma,qwen")
    parser.add_argument("--rows", type=names_of(list(SECTIONS)), default=",".join(SECTIONS))
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results.json")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds starts at 1")

    try:
        doctor = run_json([arguments.amphora, "doctor", "--json"])
    except (Failed, OSError) as error:
        sys.exit(f"targets: {error}")
    about = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "processor": doctor["processor"],
             "kernels": doctor["kernels"], "amphora": doctor["version"], "peer": arguments.peer.resolve().parents[1].name}
    results = Results(arguments.rounds)
    bench = Bench(arguments, results)
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    results.print_head()
    for section in arguments.rows:
        for model in arguments.models:
            run_section(bench, section, model, SECTIONS[section], model)
        if section == "speculation":
            run_section(bench, section, "random", speculation_of_random_model)
        results.write(arguments.output, about)
    results.print_summary()
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
