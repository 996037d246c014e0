"""Adds up the lines `rederived: ...` on standard input, for example in the output of `cargo test -- --show-output`.

Usage: python3 -m rederive.totals < FILE
"""

import collections
import re
import sys

LINE = re.compile(r"rederived: (?P<counts>[^;]*); skipped: (?P<skipped>[^;]*); ")
COUNTS = re.compile(r"(\S+) (\d+)/(\d+)")
SKIPPED = re.compile(r"(\S+) (\d+)")


def totals(lines):
    """Yields one line for each kind of value and each reason for skipping values, and a line with the totals."""
    runs, counts, mismatched, skipped = 0, collections.Counter(), collections.Counter(), collections.Counter()
    for line in filter(None, map(LINE.search, lines)):
        runs += 1
        for kind, count, wrong in COUNTS.findall(line["counts"]):
            counts[kind] += int(count)
            mismatched[kind] += int(wrong)
        for reason, count in SKIPPED.findall(line["skipped"]):
            skipped[reason] += int(count)
    for kind, count in sorted(counts.items()):
        yield f"{kind}: {count} values, {mismatched[kind]} mismatched"
    for reason, count in sorted(skipped.items()):
        yield f"{reason}: {count} skipped"
    yield f"total of {runs} runs: {counts.total()} values, {mismatched.total()} mismatched, {skipped.total()} skipped"


if __name__ == "__main__":
    print("\n".join(totals(sys.stdin)))
