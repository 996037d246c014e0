"""Parses Markdown pages into headings, links and code. Performs I/O."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^( *)```(\w*)\s*$")
HEADING = re.compile(r"^(#+) +(.*?)\s*$")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)|!\[[^\]]*\]\(([^()\s]+)\)")
INLINE = re.compile(r"`([^`]+)`")


@dataclass
class Block:
    """A fenced block: its language, first line number and text."""

    language: str
    line: int
    text: str


@dataclass
class Page:
    """A Markdown page. `prose` contains the lines outside fenced blocks, with their numbers."""

    path: Path
    prose: list[tuple[int, str]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def headings(self):
        """Yields each heading: line, depth, text."""
        for line, text in self.prose:
            if found := HEADING.match(text):
                yield line, len(found[1]), found[2]

    def anchors(self):
        """Yields the URL fragments that code hosting sites generate for the headings."""
        seen = {}
        for _, _, text in self.headings():
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            seen[slug] = seen.get(slug, -1) + 1
            yield slug if seen[slug] == 0 else f"{slug}-{seen[slug]}"

    def links(self):
        """Yields each link or image: line, target."""
        for line, text in self.prose:
            for found in LINK.finditer(INLINE.sub("``", text)):
                yield line, found[1] or found[2]

    def inline_code(self):
        """Yields each inline code span: line, text."""
        for line, text in self.prose:
            for code in INLINE.findall(text):
                yield line, code

    def section(self, heading):
        """Lines between `heading` and the next heading; empty if the page has no such heading."""
        lines = [line for line, _, _ in self.headings()]
        begin = next((line for line, _, text in self.headings() if text == heading), float("inf"))
        end = min((line for line in lines if line > begin), default=float("inf"))
        return [text for line, text in self.prose if begin < line < end]


def read(path):
    """Reads and parses the page in the file `path`."""
    return parsed(path, path.read_text(encoding="utf-8"))


def parsed(path, source):
    """Parses `source` as the page at `path`."""
    page = Page(path)
    block = None
    for number, text in enumerate(source.splitlines(), 1):
        fence = FENCE.match(text)
        if block is not None:
            if fence:
                page.blocks.append(block)
                block = None
            else:
                block.text += text + "\n"
        elif fence:
            block = Block(fence[2], number + 1, "")
        else:
            page.prose.append((number, text))
    return page


def all_pages(root):
    """Reads every Markdown page that git tracks or would add."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.md"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [read(root / name) for name in sorted(set(names.split("\0"))) if name and (root / name).exists()]
