"""Relative links resolve, with their anchors, and every page of docs/ can be reached from the README. Reads files."""

from urllib.parse import unquote

import pages


def check(root, every):
    """Yields what is wrong, with its place."""
    known = {page.path.resolve(): page for page in every}
    for page in every:
        for line, target in page.links():
            if wrong := problem(page, target, known):
                yield f"{page.path.relative_to(root)}:{line}: {wrong}"


def orphans(root, every):
    """Yields pages of docs/ that nothing leads to."""
    known = {page.path.resolve(): page for page in every}
    reached = set()
    waiting = [(root / "README.md").resolve()]
    while waiting:
        path = waiting.pop()
        if path in reached or path not in known:
            continue
        reached.add(path)
        targets = (target for _, target in known[path].links() if "://" not in target)
        waiting += [(path.parent / unquote(target.partition("#")[0])).resolve() for target in targets]
    for path in known:
        if path.is_relative_to((root / "docs").resolve()) and path not in reached:
            yield f"{path.relative_to(root.resolve())}: no way leads here from README.md"


def problem(page, target, known):
    """What is wrong with a link of `page`; nothing where it resolves, or leads out of the project."""
    if "://" in target or target.startswith("mailto:"):
        return None
    file, _, anchor = target.partition("#")
    path = (page.path.parent / unquote(file)).resolve() if file else page.path.resolve()
    if path not in known and not path.exists():
        return f"{target}: no such file"
    if not anchor:
        return None
    if path.suffix != ".md":
        return f"{target}: an anchor of a file that is no page"
    linked = known.get(path) or pages.read(path)
    return None if anchor in linked.anchors() else f"{target}: no such heading"
