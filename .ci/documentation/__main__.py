"""Checks the documentation against the code, the schemas and the binaries.

Usage: python3 .ci/documentation ROOT MODE. The modes are

    local       links, addresses of pages in other files, the index of the examples, fields, enum values, test names, runs, and fabricbench, make and docker commands
    kubernetes  manifests against the Kubernetes schemas, and kubectl and helm commands
    applied     runs against the API server of the current kubeconfig context, without storing them
"""

import sys
import tempfile
from pathlib import Path

import addresses
import commands
import enums
import examples
import fields
import links
import manifests
import pages
import tests


def main():
    root, mode = Path(sys.argv[1]).resolve(), sys.argv[2]
    all_pages = pages.all_pages(root)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        (scratch / "commands").mkdir()
        problems = list(MODES[mode](root, all_pages, scratch))
    return report(mode, all_pages, problems)


def local(root, all_pages, scratch):
    yield from links.check(root, all_pages)
    yield from links.check_paths(root, all_pages)
    yield from links.orphans(root, all_pages)
    yield from addresses.check(root)
    yield from examples.check(root, all_pages)
    yield from fields.check(root, all_pages)
    yield from enums.check(root, all_pages)
    yield from tests.check(root, all_pages)
    yield from manifests.check_plans(root, all_pages, scratch)
    yield from commands.check_names(root, all_pages)
    yield from commands.check(root, all_pages, scratch / "commands", commands.LOCAL)


def kubernetes(root, all_pages, scratch):
    yield from manifests.check_schemas(root, all_pages, scratch)
    yield from commands.check(root, all_pages, scratch / "commands", commands.KUBERNETES)


def report(mode, all_pages, problems):
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{mode}: {len(all_pages)} pages, {sum(len(page.blocks) for page in all_pages)} blocks, {len(problems)} problems")
    return 1 if problems else 0


MODES = {"local": local, "kubernetes": kubernetes, "applied": manifests.applied}

if __name__ == "__main__":
    sys.exit(main())
