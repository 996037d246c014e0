"""Checks that the index of the examples names each of them once. Performs I/O."""

from pathlib import PurePath


def check(root, all_pages):
    """Yields the examples that examples/README.md does not name exactly once."""
    index = root / "examples/README.md"
    named = [target for page in all_pages if page.path == index for _, target in page.links()]
    for file in sorted(index.parent.glob("*.yaml")):
        count = sum(PurePath(target).name == file.name for target in named)
        if count != 1:
            yield f"examples/README.md: {file.name} is named {count} times; it must be named once"
