"""Checks the documentation against code, schema and programs.

Usage: python3 .ci/documentation ROOT [applied]; with `applied`, asks the API server of KUBECONFIG about runs instead.
"""

import sys
import tempfile
from pathlib import Path

import commands
import fields
import links
import manifests
import pages
import words


def main():
    root = Path(sys.argv[1]).resolve()
    every = pages.all_pages(root)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "commands").mkdir()
        if sys.argv[2:] == ["applied"]:
            return report(every, list(manifests.applied(root, every, scratch)))
        problems = [
            *links.check(root, every),
            *links.orphans(root, every),
            *fields.check(root, every),
            *words.check(root, every),
            *manifests.check(root, every, scratch),
            *commands.check(root, every, scratch / "commands"),
        ]
    return report(every, problems)


def report(every, problems):
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(every)} pages, {sum(len(page.blocks) for page in every)} blocks, {len(problems)} faults")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
