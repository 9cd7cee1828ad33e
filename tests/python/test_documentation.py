"""What the documentation shows runs and shows what it says; what is public stands on a page."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
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
    """So that none is overlooked by how they are found."""
    shown = {name.rpartition("-")[0] for name, _ in C_EXAMPLES}
    assert {"README.md", *(path.name for path in HEADERS)} <= shown


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


# ---------------------------------------------------------------- nothing forgotten

# The page of a module, and the prefix that its C names share, for which pages write "…".
MODULES = {
    "hmath": ("runtime", "hmath_"),
    "hmath.autodiff": ("autodiff", "hmath_autodiff"),
    "hmath.deeplearning_core": ("core", "hmath_neural_core"),
    "hmath.deeplearning_layers": ("layers", "hmath_neural_layers"),
    "hmath.deeplearning_metrics": ("metrics", "hmath_neural_metrics"),
    "hmath.deeplearning_precision": ("precision", "hmath_neural_precision"),
    "hmath.errors": ("runtime", "hmath_"),
    "hmath.optim": ("optim", "hmath_optim"),
    "hmath.random": ("random", "hmath_random"),
    "hmath.tensor": ("tensor", "hmath_tensor"),
}


def code_of(page: str) -> str:
    """What a page writes as code: spans and blocks."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))


def public_names(module: str) -> list[str]:
    """What a module exports, and its classes' own public attributes."""
    loaded = importlib.import_module(module)
    names = set(loaded.__all__)
    for value in [getattr(loaded, name) for name in names]:
        if isinstance(value, type) and value.__module__ == module:
            names.update(vars(value))
    names.discard("KIND")  # of every owner, documented once
    return sorted(name for name in names if name == "__version__" or not name.startswith("_"))


def test_every_module_has_a_page() -> None:
    names = {module.name for module in pkgutil.iter_modules(hmath.__path__)}
    modules = {f"hmath.{name}" for name in names if not name.startswith("_")}
    assert modules | {"hmath"} == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module: str) -> None:
    page, _ = MODULES[module]
    code = code_of(page)
    assert [name for name in public_names(module) if not re.search(rf"\b{re.escape(name)}\b", code)] == []


def shown() -> str:
    """All examples of all pages."""
    return "\n".join(block[2] for page in PAGES for block in BLOCK.finditer(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES)
def test_every_function_is_shown(module: str) -> None:
    """Each public function is called in an example of some page."""
    loaded, examples = importlib.import_module(module), shown()
    functions = [name for name in loaded.__all__ if inspect.isroutine(getattr(loaded, name))]
    assert [name for name in functions if not re.search(rf"\b{name}\b", examples)] == []


def declared_functions() -> list[str]:
    found: list[str] = []
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        found += re.findall(r"^HMATH_(?:API|CALL)\b[^;]*?\b(hmath_\w+)\s*\(", text, re.MULTILINE)
    return found


def test_every_c_function_is_documented() -> None:
    """Under its name, or as "…" and what follows its module's prefix; tensor and random leave the prefix out."""
    missing = []
    pages = {prefix: code_of(page) for page, prefix in MODULES.values()}
    everything = "\n".join(pages.values())
    for name in declared_functions():
        prefix = max((p for p in pages if name.startswith(p)), key=len)
        rest = name[len(prefix) :]
        bare = rest.lstrip("_") if prefix in ("hmath_tensor", "hmath_random") else None
        if not (
            re.search(rf"\b{name}\b", everything)
            or re.search(rf"…{rest}\b", pages[prefix])
            or (bare and re.search(rf"\b{bare}\b", pages[prefix]))
        ):
            missing.append(name)
    assert missing == []


# ---------------------------------------------------------------- one bound, one number


def bounds() -> dict[str, str]:
    """The bounds in ulp that were measured, of functions that hmath.tensor has."""
    text = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| [\d.]+ \| [^|]+ \| ([\d.]+) \|", text, re.MULTILINE)
    return {name: bound for name, bound in rows if hasattr(hmath.tensor, name)}


@pytest.mark.parametrize(("name", "bound"), bounds().items(), ids=bounds())
def test_documents_agree_on_errors(name: str, bound: str) -> None:
    docstrings = [
        getattr(module, name).__doc__ for module in (hmath.tensor, hmath.autodiff) if hasattr(module, name)
    ]
    assert all(f"to {bound} ulp" in text for text in docstrings)
    (row,) = [row for row in code_rows("tensor") if f"`{name}`" in row and " ulp |" in row]
    assert f"| {bound} ulp |" in row
    for row in code_rows("autodiff"):
        assert f"| `{name}(value)` |" not in row or row.endswith(f"| {bound} |")


def code_rows(page: str) -> list[str]:
    return [
        row
        for row in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()
        if row[:1] == "|"
    ]


# ---------------------------------------------------------------- form


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_rows_have_the_cells_of_their_table(page: Path) -> None:
    """A bar too many, in a formula for instance, would cut a row short without a word."""
    tables = re.findall(r"(?:^\|.*\|\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    for table in tables:
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
        assert set(cells) == {cells[0]}, table


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to other files and to headings, and pictures."""
    for target, heading in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not heading or heading in anchors(linked), f"{target}#{heading}"


def test_the_tour_leads_somewhere() -> None:
    spans = re.findall(r"`([\w./]+/[\w./]+)`", (ROOT / "docs" / "tour.md").read_text(encoding="utf-8"))
    assert len(spans) > 30
    assert [path for path in spans if not (ROOT / path).exists()] == []


def anchors(page: Path) -> set[str]:
    """What a heading is called in links, on Git hosts and in MyST."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
