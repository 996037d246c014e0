"""Checks the addresses of pages in the program, the charts and other files that are not pages. Performs I/O.

The address of the site is the field `home` of Chart.yaml, and is not written anywhere else: `.ci/generate` writes it into alerts and
dashboards. The page docs/NAME.md has the address HOME/docs/NAME.html.
"""

import re
import subprocess

import pages

CHART = "charts/fabricbench/Chart.yaml"
# A path of a page in a comment, a message or a description.
MENTION = re.compile(r"(?<![\w/.-])docs/([\w/-]+\.md)(#[\w-]+)?")
# Files whose names and addresses are examples of the checks themselves, or another program's.
EXCLUDED = re.compile(r"^\.ci/documentation/|\.md$|\.lock$|^runner/sys/|/go\.(sum|mod)$")


def chart_field(root, name):
    """Returns a top-level field of Chart.yaml that has a single-line value."""
    return re.search(rf'^{name}: "?([^"\n]+)"?$', (root / CHART).read_text(), re.MULTILINE)[1]


def check(root):
    """Yields the addresses of the site and the mentions of pages, in files other than pages, that do not exist."""
    home = chart_field(root, "home")
    for file, line, text in lines(root):
        for found in MENTION.finditer(text):
            if reason := missing(root, found[1], (found[2] or "")[1:]):
                yield f"{file}:{line}: {found[0]}: {reason}"
        for address in re.findall(re.escape(home) + r"/[^\s\"'`)>]*", text):
            page, anchor = parts(home, address)
            if reason := missing(root, page, anchor) if page else "not the address of a page, HOME/docs/NAME.html":
                yield f"{file}:{line}: {address}: {reason}"


def targets(root):
    """Returns each address of the site in the repository's files, as page and anchor."""
    home = chart_field(root, "home")
    found = set()
    for _, _, text in lines(root):
        found.update(parts(home, address) for address in re.findall(re.escape(home) + r"/docs/[\w/-]+\.html(?:#[\w-]+)?", text))
    return sorted(found)


def parts(home, address):
    """Returns the page, relative to docs/, and the anchor of an address of the site. The page is empty if the address is not one."""
    found = re.fullmatch(re.escape(home) + r"/docs/([\w/-]+)\.html(?:#([\w-]+))?", address)
    return (f"{found[1]}.md", found[2] or "") if found else ("", "")


def missing(root, name, anchor):
    """Returns why a page of docs/, or the anchor in it, does not exist, or None."""
    file = root / "docs" / name
    if not file.exists():
        return "no such page"
    return "no such heading" if anchor and anchor not in pages.read(file).anchors() else None


def lines(root):
    """Yields file, number and text of each line of the tracked text files that are not pages."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in sorted(set(names.split("\0"))):
        if not name or EXCLUDED.search(name) or not (root / name).is_file():
            continue
        try:
            text = (root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            yield name, number, line
