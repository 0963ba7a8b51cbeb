"""The rows of bench/targets.py: a target, whether a figure meets it, the table on stdout and the JSON document."""

import json
import math
import statistics

DISTURBED = 0.1  # the share of the processors from which on a warning is printed


class Target:
    """What a ratio should be: at least, at most, or within so much of 1."""

    def __init__(self, sign, bound):
        self.sign, self.bound = sign, bound

    def is_met(self, ratio):
        if self.sign == "≥":
            return ratio >= self.bound
        if self.sign == "≤":
            return ratio <= self.bound
        return abs(ratio - 1) <= self.bound

    def __str__(self):
        return f"1 ± {self.bound:g}" if self.sign == "±" else f"{self.sign} {self.bound:.4g}"


def at_least(bound):
    return Target("≥", bound)


def at_most(bound):
    return Target("≤", bound)


def within(bound):
    return Target("±", bound)


def figure(value):
    """Four significant digits, never an exponent."""
    if value is None:
        return "-"
    digits = 3 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(digits, 0), 4)}f}"


class Results:
    def __init__(self, rounds):
        self.rounds, self.rows, self.failures = rounds, [], []
        self.others_busy = 0.0

    def begin(self, others_busy):
        """What other processes take of the machine goes with every row that follows."""
        self.others_busy = others_busy
        if others_busy > DISTURBED:
            print(f"the next rows are disturbed: others keep {100 * others_busy:.0f} % of the processors busy", flush=True)

    def print_head(self):
        print(f"medians of {self.rounds} rounds, taken in turn; the ratio is the median of the rounds' ratios, then their range")
        print(f"{'section':<12}{'what':<36}{'model':<7}{'threads':>8}{'ours':>10}{'reference':>11}{'ratio':>9}  "
              f"{'range':<18}{'target':<12}met")

    def add(self, section, name, model, threads, ours, reference, target=None, ratios=None, note=""):
        """`ours` and `reference` are lists, a figure a round; the ratios are ours / reference if none are given."""
        if ratios is None:
            ratios = [a / b for a, b in zip(ours, reference)]
        ratio = statistics.median(ratios)
        self.rows.append({
            "section": section, "name": name, "model": model, "threads": threads, "ours": statistics.median(ours),
            "reference": statistics.median(reference), "ratio": ratio, "range": [min(ratios), max(ratios)],
            "target": str(target) if target else None, "met": target.is_met(ratio) if target else None, "note": note,
            "others_busy": self.others_busy})
        self.print_row(self.rows[-1])

    def add_missing(self, section, name, model, threads, target, note):
        self.rows.append({"section": section, "name": name, "model": model, "threads": threads, "ours": None, "reference": None,
                          "ratio": None, "range": None, "target": str(target), "met": None, "note": note,
                          "others_busy": self.others_busy})
        self.print_row(self.rows[-1])

    def fail(self, section, model, error):
        self.failures.append({"section": section, "model": model, "error": str(error)})
        print(f"{section:<12}failed: {error}", flush=True)

    def print_row(self, row):
        digits = 4 if row["section"] == "quality" else 2
        low_high = f"{row['range'][0]:.{digits}f} – {row['range'][1]:.{digits}f}" if row["range"] else "-"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.{digits}f}"
        met = {True: "yes", False: "NO", None: "-"}[row["met"]]
        print(f"{row['section']:<12}{row['name']:<36}{row['model']:<7}{row['threads']:>8}{figure(row['ours']):>10}"
              f"{figure(row['reference']):>11}{ratio:>9}  {low_high:<18}{row['target'] or '-':<12}"
              f"{met:<4}{row['note']}".rstrip(), flush=True)

    def print_summary(self):
        def names(met):
            return [f"{row['section']}: {row['name']}, {row['model']}, threads {row['threads']}" +
                    (f": {row['ratio']:.4g}, wanted {row['target']}" if met is False else "")
                    for row in self.rows if row["target"] and row["met"] is met]

        for title, met in [("met", True), ("missed", False), ("not measured", None)]:
            found = names(met)
            print(f"\ntargets {title}: {len(found)}" + "".join(f"\n  {name}" for name in found))
        if disturbed := sum(row["others_busy"] > DISTURBED for row in self.rows):
            print(f"\nmeasured on a machine that was not idle: {disturbed} of {len(self.rows)} rows")
        if self.failures:
            print(f"\nfailed: {len(self.failures)}")
            for one in self.failures:
                print(f"  {one['section']}, {one['model']}: {one['error']}")

    def write(self, path, about):
        path.parent.mkdir(parents=True, exist_ok=True)
        document = about | {"rounds": self.rounds, "rows": self.rows, "failures": self.failures}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
