"""The site made of these pages: ``python -m sphinx -W docs build/docs``.

The pages are plain Markdown, for readers on a Git host too. So the order of the site is the order of the
links in ``index.md``; pages that it does not name come last.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "libhmath"
author = "libhmath"
html_title = "libhmath"
html_theme = "furo"
extensions = ["myst_parser"]
# Links like core.md#softmax lead to headings, as on a Git host.
myst_heading_anchors = 3
highlight_language = "text"  # of blocks that name none

CONTENTS = """
```{{toctree}}
:hidden:

{pages}
```
"""


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    if page == "index":
        named = re.findall(r"\]\((\w+)\.md\)", source[0])
        others = sorted(path.stem for path in Path(app.srcdir).glob("*.md") if path.stem != "index")
        source[0] += CONTENTS.format(pages="\n".join(dict.fromkeys(named + others)))


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_contents)
