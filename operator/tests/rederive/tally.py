"""Counts the values that agree, those that differ, and those that could not be compared."""

import collections

# Tolerance for a value that both programs round to an integer, because logarithms may differ in the last bit.
ROUNDING = 1


class Tally:
    """Result of comparing one status. `omits` is true if the status omits values to limit its size."""

    def __init__(self, omits):
        self.omits = omits
        self.agreed = collections.Counter()
        self.mismatched = collections.Counter()
        self.skipped = collections.Counter()
        self.differences = []

    def compare(self, kind, where, stored, derived, tolerance=0):
        """Compares one value. `where` names the field in the status. A value that neither side has is not counted."""
        if stored is None and self.omits:
            self.skipped["omitted"] += derived is not None
            return
        if stored is None and derived is None:
            return
        equal = stored == derived
        if not equal and tolerance and stored is not None and derived is not None:
            equal = abs(stored - derived) <= tolerance
        if equal:
            self.agreed[kind] += 1
        else:
            self.mismatched[kind] += 1
            self.differences.append(f"{where}: the status has {stored}, derived {derived}")

    def line(self, name):
        """Returns the summary line for run `name`: the number of values and mismatches of each kind, in the format that
        `totals` reads."""
        kinds = sorted(self.agreed | self.mismatched)
        counts = [f"{kind} {self.agreed[kind] + self.mismatched[kind]}/{self.mismatched[kind]}" for kind in kinds]
        skipped = [f"{reason} {count}" for reason, count in sorted(self.skipped.items()) if count]
        return f"rederived: {', '.join(counts)}; skipped: {', '.join(skipped) or 'nothing'}; {name}"
