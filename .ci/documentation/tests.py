"""Checks that the tests in the tables of the pages exist. Performs I/O."""

import re


def check(root, all_pages):
    """Yields the tests in the columns with the head `tests` that the code does not have."""
    existing = {name for file in sources(root) for name in re.findall(r"\bfn (\w+)\(", file.read_text())}
    for page in all_pages:
        for name in sorted(named(page)):
            if name not in existing:
                yield f"{page.path.relative_to(root)}: no test is named {name}"


def sources(root):
    """Rust files, without those of builds."""
    for directory in ("cli", "crds", "operator", "runner"):
        yield from (root / directory).rglob("*.rs")


def named(page):
    """Names in backticks in the columns with the head `tests`."""
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
