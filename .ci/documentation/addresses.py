"""Checks the addresses of pages in the program, the charts and other files that are not pages. Performs I/O.

The address of the site is the field `home` of Chart.yaml, and is not written anywhere else: `.ci/generate` writes it into alerts and
the other files. The page PATH/NAME.md has the address HOME/PATH/NAME.html, and README.md the address of index.html.
"""

import re
import subprocess

import pages

CHART = "charts/fabricbench/Chart.yaml"
# A path of a page in a comment, a message or a description.
MENTION = re.compile(r"(?<![\w/.-])(docs/[\w/-]+\.md)(#[\w-]+)?")
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
        for address in in_text(home, text):
            if reason := missing(root, *parts(home, address)):
                yield f"{file}:{line}: {address}: {reason}"


def targets(root):
    """Returns each address of the site in the repository's files, relative to the site, and its anchor."""
    home = chart_field(root, "home")
    addresses = {address for _, _, text in lines(root) for address in in_text(home, text)}
    return sorted(address.removeprefix(f"{home}/").partition("#")[::2] for address in addresses)


def in_text(home, text):
    """Returns the addresses of the site in a line, without those of the directory of all pages, to which a name is appended."""
    found = re.findall(re.escape(home) + r"/[^\s\"'`)>]*", text)
    return [address for address in found if address not in (f"{home}/", f"{home}/docs", f"{home}/docs/")]


def parts(home, address):
    """Returns the file of an address, relative to the repository, and the anchor. The site has no Markdown files."""
    name, _, anchor = address.removeprefix(f"{home}/").partition("#")
    if name.endswith(".md"):
        return "", anchor
    name = re.sub(r"(^|/)index\.html$", r"\1README.html", name)
    return re.sub(r"\.html$", ".md", name) if name.endswith(".html") else name, anchor


def missing(root, name, anchor):
    """Returns why a file, or the anchor in a page, does not exist, or None."""
    file = root / name
    if not file.is_file():
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
