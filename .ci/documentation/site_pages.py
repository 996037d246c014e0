"""Stages the pages for Sphinx, and checks the built site. Performs I/O.

Usage: python3 .ci/documentation/site_pages.py stage ROOT DIRECTORY   copies the pages and the files that they link to
       python3 .ci/documentation/site_pages.py finish ROOT DIRECTORY  adds the other files with an address, and checks all addresses

The staged files keep their paths, so that links work unchanged; only README.md becomes index.md, the name of a directory's page in a
site. The sections of docs/README.md are the navigation.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

import addresses
import pages

README = re.compile(r"(\]\([^()\s]*?)README\.md(?=[#)])")


def main():
    mode, root, directory = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    if mode == "stage":
        stage(root, directory)
        return 0
    for name, _ in addresses.targets(root):
        if not name.endswith(".html") and (root / name).is_file():
            write(directory / name, (root / name).read_bytes())
    problems = list(check(root, directory))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def stage(root, directory):
    """Copies every page, and every file that a page links to, into `directory`, and writes the navigation."""
    all_pages = {page.path.resolve(): page for page in pages.all_pages(root)}
    for path, page in all_pages.items():
        write(directory / staged(path.relative_to(root)), README.sub(r"\1index.md", path.read_text(encoding="utf-8")).encode())
        for _, target in page.links():
            file = (path.parent / unquote(target.partition("#")[0])).resolve()
            if "://" not in target and file not in all_pages and file.is_file():
                write(directory / file.relative_to(root), file.read_bytes())
    index = directory / "index.md"
    write(index, index.read_bytes() + navigation(root, all_pages).encode())


def navigation(root, all_pages):
    """Returns the tables of contents: one for each section of docs/README.md, and one for the other pages outside docs/."""
    start = root / "docs/README.md"
    sections, listed = {"Documentation": ["docs/index"]}, set()
    headings = [(line, text) for line, depth, text in all_pages[start].headings() if depth == 2]
    for line, target in all_pages[start].links():
        file = (start.parent / target.partition("#")[0]).resolve()
        section = [text for begin, text in headings if begin < line][-1:]
        if section and file in all_pages and file not in listed:
            listed.add(file)
            sections.setdefault(section[0], []).append(name(root, file))
    others = [file for file in sorted(all_pages) if not file.is_relative_to(root / "docs") and file != root / "README.md"]
    sections["Project"] = [name(root, file) for file in others]
    blocks = (f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(names) + "\n```\n" for title, names in sections.items())
    return "".join(blocks)


def name(root, file):
    """Returns the name of a page in the navigation."""
    return staged(file.relative_to(root)).with_suffix("").as_posix()


def staged(path):
    """Returns the path of a page in the site's sources."""
    return path.with_name("index.md") if path.name == "README.md" else path


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def check(root, site):
    """Yields the addresses of the site in the program, alerts and dashboards that the built site does not have."""
    found = addresses.targets(root)
    if not found:
        yield "no address of the site was found in the program, alerts and dashboards"
    for name, anchor in found:
        if not (site / name).is_file():
            yield f"{name}: the site has no such page"
        elif anchor and f'id="{anchor}"' not in (site / name).read_text(encoding="utf-8"):
            yield f"{name}#{anchor}: the site has no such anchor"


if __name__ == "__main__":
    sys.exit(main())
