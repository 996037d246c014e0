"""Checks that the tests listed in the pages' tables exist. Performs I/O."""

import re


def check(root, all_pages):
    """Yields the tests that are named in table columns with the heading `tests` and do not exist."""
    existing = {name for file in sources(root) for name in re.findall(r"\bfn (\w+)\(", file.read_text())}
    for page in all_pages:
        for name in sorted(named(page)):
            if name not in existing:
                yield f"{page.path.relative_to(root)}: no test is named {name}"


def sources(root):
    """Returns the Rust source files of all crates, excluding build results."""
    for directory in ("cli", "crds", "operator", "runner"):
        yield from (root / directory).rglob("*.rs")


def named(page):
    """Returns the names in backticks in table columns with the heading `tests`."""
    column, found = None, set()
    for _, line in page.prose:
        row = [cell.strip() for cell in line.split("|")]
        if not line.startswith("|"):
            column = None
        elif "tests" in row:
            column = row.index("tests")
        elif column and len(row) > column:
            found.update(re.findall(r"`(\w+)`", row[column]))
    return found
