"""Checks relative links, anchors and paths, and that every page of docs/ is reachable from the README. Performs I/O."""

import re
from urllib.parse import unquote

import pages

# A path in one of the repository's directories. Build results are excluded, because they do not exist before a build.
PATH = re.compile(r"(?:\.ci|charts|cli|crds|docs|examples|images|operator|runner|testbed)/[\w.*/-]*")


def check(root, all_pages):
    """Yields the links that do not resolve, with page and line."""
    known = {page.path.resolve(): page for page in all_pages}
    for page in all_pages:
        for line, target in page.links():
            if reason := problem(page, target, known):
                yield f"{page.path.relative_to(root)}:{line}: {reason}"


def check_paths(root, all_pages):
    """Yields the paths in running text that do not exist, relative to the project or to the page."""
    for page in all_pages:
        for line, code in page.inline_code():
            if not PATH.fullmatch(code):
                continue
            if not any(next(base.glob(code.rstrip("/")), None) for base in (root, page.path.parent)):
                yield f"{page.path.relative_to(root)}:{line}: `{code}`: no such file or directory"


def orphans(root, all_pages):
    """Yields the pages of docs/ that cannot be reached from README.md."""
    known = {page.path.resolve(): page for page in all_pages}
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
            yield f"{path.relative_to(root.resolve())}: not reachable from README.md"


def problem(page, target, known):
    """Returns the problem with a link in `page`, or None if the link resolves or is external."""
    if "://" in target or target.startswith("mailto:"):
        return None
    file, _, anchor = target.partition("#")
    path = (page.path.parent / unquote(file)).resolve() if file else page.path.resolve()
    if path not in known and not path.exists():
        return f"{target}: no such file"
    if not anchor:
        return None
    if path.suffix != ".md":
        return f"{target}: only Markdown pages have anchors"
    linked = known.get(path) or pages.read(path)
    return None if anchor in linked.anchors() else f"{target}: no such heading"
