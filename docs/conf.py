"""The site: ``python -m sphinx -W docs site`` writes static pages that open from disk."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE.parent / "src"),
    str(HERE / "_ext"),
]  # pages of these sources, wherever another copy is installed

os.environ.setdefault("MPLBACKEND", "Agg")  # examples draw without a screen

project = "hyphc"
author = "the hyphc maintainers"
copyright = author
metadata = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
release = metadata["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "reference",  # a page for every public name
    "examples",  # code of pages runs, and stands beside the picture it draws
]
exclude_patterns = ["_ext"]

# Pages are plain Markdown that reads well without the site: links to files and headings, indented formulas, images in HTML.
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
highlight_language = "text"

# Docstrings tell types in words, with shapes; members are listed by autodoc, in the order of the source.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"hyphc {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # browsers do not let a page on disk read others
html_theme_options = {"navigation_with_keys": True}
# "Edit this page" needs the repository's address: HYPHC_REPOSITORY, or Repository in project.urls. Without one it is left out.
repository = os.environ.get("HYPHC_REPOSITORY") or metadata.get("urls", {}).get("Repository")
if repository:
    html_theme_options |= {
        "source_edit_link": f"{repository.rstrip('/')}/edit/main/docs/{{filename}}",
        "top_of_page_buttons": ["edit"],
    }
site = os.environ.get("HYPHC_SITE")  # where the site is published; pages that are opened from disk have no address
html_baseurl = f"{site.rstrip('/')}/" if site else ""
pygments_style = "default"  # its colours can be read on their ground, those of most styles cannot
pygments_dark_style = "github-dark"
copybutton_prompt_text = ">>> |\\.\\.\\. "
copybutton_prompt_is_regexp = True
