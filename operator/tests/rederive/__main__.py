"""Checks run directories. Usage: python3 -m rederive DIRECTORY...

Exits with 1 and lists the differences if a figure of a status differs from the one derived here.
"""

import sys
from pathlib import Path

from .check import Check


def main(directories):
    """Checks each directory, and prints how many figures of each kind agree."""
    failed = False
    for directory in directories:
        check = Check(Path(directory))
        check.all()
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(check.agreed.items()))
        print(f"{directory}: {sum(check.agreed.values())} figures agree ({kinds}); {check.skipped} cells not checked")
        for difference in check.differences:
            print(f"{directory}: {difference}", file=sys.stderr)
        failed |= bool(check.differences)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
