"""Configuration of Sphinx for the site. The sources are the pages that .ci/documentation/site_pages.py stages."""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/documentation"))

import addresses  # noqa: E402

project = "fabricbench"
release = addresses.chart_field(ROOT, "version")
html_baseurl = addresses.chart_field(ROOT, "home")
language = "en"
extensions = ["myst_parser"]
# The pages' anchors are those of code hosting sites.
myst_heading_anchors = 6
root_doc = "index"
nitpicky = True
# Decisions are listed by their own index.
suppress_warnings = ["toc.not_included"]
html_theme = "alabaster"
html_theme_options = {"page_width": "75rem", "body_max_width": "none", "show_relbars": True, "nosidebar": False}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sphinx = False
html_copy_source = False


def setup(app):
    """Shows the source of Mermaid diagrams, which only code hosting sites draw."""
    app.add_lexer("mermaid", TextLexer)
