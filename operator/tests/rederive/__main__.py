"""Checks run directories. Usage: python3 -m rederive DIRECTORY...

Prints one line for each directory and, for several directories, the totals. If a value in a status differs from
the derived value, lists the differences and exits with status 1.
"""

import sys
from pathlib import Path

from . import check
from .totals import totals


def main(directories):
    """Checks each directory."""
    failed, lines = False, []
    for directory in directories:
        tally = check.check(Path(directory))
        lines.append(tally.line(directory))
        print(lines[-1])
        for difference in tally.differences:
            print(f"{directory}: {difference}", file=sys.stderr)
        failed |= bool(tally.differences)
    if len(lines) > 1:
        print("\n".join(totals(lines)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
