"""Every Python example in the documentation runs, and shows what it says it shows."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.exists()]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_session(source: str, names: dict, page: Path, line: int) -> None:
    """A block with prompts: each result is compared with the text below its prompt."""
    test = doctest.DocTestParser().get_doctest(source, names, page.name, str(page), line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_examples_run(page: Path) -> None:
    """The blocks of a page share one namespace, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    names: dict = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        source, line = block[2], text.count("\n", 0, block.start()) + 1
        if ">>>" in source:
            run_session(source, names, page, line)
        else:
            exec(compile("\n" * line + source, str(page), "exec"), names)
