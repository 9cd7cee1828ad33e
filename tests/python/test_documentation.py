"""What the documentation shows runs and shows what it says; what is public stands on a page."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hmath

ROOT = Path(__file__).parents[2]
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.exists()]
HEADERS = sorted((ROOT / "include").glob("*.h"))
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMPILERS = [found for name in ("gcc", "clang") if (found := shutil.which(name))]


# ---------------------------------------------------------------- Python


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


# ---------------------------------------------------------------- C

# Statements stand in a function that has a context; afterwards nothing may be left alive.
PROGRAM = """
#include <hmath_deeplearning.h>
#include <stdio.h>

static void example(hmath_context *ctx)
{
    (void)ctx;
    {
%s
    }
}

int main(void)
{
    hmath_context *ctx = NULL;
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    example(ctx);
    hmath_context_destroy(ctx);
    return hmath_live_values() != 0;
}
"""


def c_examples() -> list[tuple[str, str]]:
    """C in the pages, and in the comments of headers: indented lines there that call the library."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```c\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        found += [(f"{page.name}-{i}", block) for i, block in enumerate(blocks)]
    for header in HEADERS:
        blocks = re.findall(r"(?:^ \*     .*\n)+", header.read_text(encoding="utf-8"), re.MULTILINE)
        code = [re.sub(r"^ \*", "", block, flags=re.MULTILINE) for block in blocks if "(ctx, " in block]
        found += [(f"{header.name}-{i}", block) for i, block in enumerate(code)]
    return found


C_EXAMPLES = c_examples()


def test_each_header_shows_an_example() -> None:
    """So that none is overlooked by how they are found; hmath_deeplearning.h continues the others."""
    shown = {name.rpartition("-")[0] for name, _ in C_EXAMPLES}
    assert {"README.md", *(path.name for path in HEADERS)} - {"hmath_deeplearning.h"} <= shown


@pytest.mark.skipif(not COMPILERS, reason="no C compiler here")
@pytest.mark.parametrize(("name", "code"), C_EXAMPLES, ids=[name for name, _ in C_EXAMPLES])
def test_c_example_builds_and_runs(name: str, code: str, tmp_path: Path) -> None:
    """Without a warning, with nothing leaked, and printing what the comments behind printf say."""
    source, built = tmp_path / "example.c", tmp_path / "example"
    source.write_text(code if "int main(" in code else PROGRAM % code)
    library = Path(hmath.get_library())
    link = [f"-I{hmath.get_include()}", str(library), f"-Wl,-rpath,{library.parent}"]
    for compiler in COMPILERS:
        command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", built, *link]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        done = subprocess.run([built], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said = re.findall(r"printf\(.*(?:/\* (.*?) \*/|// (.*?)(?:;.*)?)$", code, re.MULTILINE)
        assert done.stdout.splitlines() == ["".join(pair) for pair in said]


# ---------------------------------------------------------------- links


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to other files, and pictures."""
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
