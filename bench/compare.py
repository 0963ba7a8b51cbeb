"""Runs amphora and llama.cpp in turn and prints their medians side by side (standard library only)."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def run_measured(command):
    """Output, wall seconds and peak resident bytes of a command; ends the program if it fails."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"compare: {' '.join(command)} ended with status {process.returncode}")
    return output, seconds, usage.ru_maxrss * 1024


def ours(amphora, model, threads, prompts, generated):
    command = [amphora, "bench", model, "--json", "--repeat", "1", "--threads", str(threads),
               "--prompt", ",".join(map(str, prompts)), "--gen", str(generated)]
    rows = json.loads(run_measured(command)[0])
    return {(row["kind"], row["n"]): row["tps_median"] for row in rows}


def theirs(peer, model, threads, prompts, generated):
    command = [f"{peer}/llama-bench", "-m", model, "-o", "json", "-r", "1", "-t", str(threads),
               "-p", ",".join(map(str, prompts)), "-n", str(generated)]
    rows = json.loads(run_measured(command)[0])
    return {("decode", row["n_gen"]) if row["n_gen"] else ("prefill", row["n_prompt"]): row["avg_ts"] for row in rows}


def first_token(command):
    """Wall seconds of a whole process that generates one token after a short prompt, and its peak memory."""
    _, seconds, resident = run_measured(command)
    return seconds, resident


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amphora", required=True)
    parser.add_argument("--peer", required=True, help="folder of llama-bench and llama-completion")
    parser.add_argument("--name", required=True)
    parser.add_argument("--pair", nargs=3, action="append", metavar=("BITS", "OURS", "THEIRS"), required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--prompts", default="128,512")
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    threads = [int(count) for count in arguments.threads.split(",") if int(count) <= (os.cpu_count() or 1)]
    prompts = [int(length) for length in arguments.prompts.split(",")]
    short_prompt = "The capital of France is"

    print(f"{arguments.name}: medians of {arguments.rounds} rounds, ours and the peer's in turn (tok/s)")
    print(f"{'bits':<5}{'threads':>8}{'what':>13}{'amphora':>11}{'llama.cpp':>11}{'ratio':>8}{'ratio of pairs':>18}")
    for bits, our_model, their_model in arguments.pair:
        for count in threads:
            our_rounds, their_rounds = [], []
            for _ in range(arguments.rounds):
                our_rounds.append(ours(arguments.amphora, our_model, count, prompts, arguments.generate))
                their_rounds.append(theirs(arguments.peer, their_model, count, prompts, arguments.generate))
            for key in [("prefill", length) for length in prompts] + [("decode", arguments.generate)]:
                mine = [one[key] for one in our_rounds]
                peers = [one[key] for one in their_rounds]
                ratios = sorted(a / b for a, b in zip(mine, peers))
                a, b = statistics.median(mine), statistics.median(peers)
                print(f"{bits:<5}{count:>8}{key[0] + ' ' + str(key[1]):>13}{a:>11.1f}{b:>11.1f}{a / b:>8.2f}"
                      f"{ratios[0]:>10.2f} – {ratios[-1]:.2f}", flush=True)

    print(f"{'bits':<5}{'':>8}{'':>13}{'amphora':>11}{'llama.cpp':>11}   whole process: one token after a short prompt, warm")
    for bits, our_model, their_model in arguments.pair:
        our_command = [arguments.amphora, "run", our_model, "--raw", "-p", short_prompt, "--max-tokens", "1", "--quiet"]
        their_command = [f"{arguments.peer}/llama-completion", "-m", their_model, "-p", short_prompt, "-n", "1",
                         "-no-cnv", "--no-warmup", "-t", str(threads[-1])]
        mine, peers = [], []
        for _ in range(arguments.rounds + 1):  # the first round warms the page cache
            mine.append(first_token(our_command))
            peers.append(first_token(their_command))
        mine, peers = mine[1:], peers[1:]
        print(f"{bits:<5}{'':>8}{'seconds':>13}{statistics.median(s for s, _ in mine):>11.3f}"
              f"{statistics.median(s for s, _ in peers):>11.3f}")
        file_bytes = os.path.getsize(our_model), os.path.getsize(their_model)
        print(f"{bits:<5}{'':>8}{'peak MB':>13}{statistics.median(r for _, r in mine) / 1e6:>11.0f}"
              f"{statistics.median(r for _, r in peers) / 1e6:>11.0f}   files {file_bytes[0] / 1e6:.0f} and "
              f"{file_bytes[1] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
