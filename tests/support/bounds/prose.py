"""Turns of phrase and names that make a reader stop: where they are, in the whole checkout."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from support.folders import ROOT

FOLDERS: Final = (".github", "benchmarks", "codegen", "docs", "examples", "tests")

PHRASES: Final[Mapping[str, str]] = {
    "people-as-pronouns": r"(?i)\b(any|every|no|some)body\b|\bwho(m)?ever\b",
    "negated-nouns": r"\b(am|are|be|is|was|were) (no|none)\b(?! (less|longer|more|such))",
    "returns-of-clauses": r"\bReturn (who|whether what|what|(all )?that( of)?|those that)\b",
}
"""What a plain sentence does without, by the name of the bound."""

_PARTICIPLES: Final = re.compile(
    "begun|done|found|given|gone|had|heard|held|kept|known|left|made|meant|met|said|seen|sent|shown|"
    "spoken|taken|told|written"
)
_PRONOUNS: Final = {"it", "its", "nobody", "nothing", "one", "their", "they", "what"}
_ELEMENTS: Final = {"each", "it", "one", "other", "that"}
_COMMENT: Final = re.compile(r"(?:^ *|  )# (.*)")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
NAMES: Final = (
    "functions-by-participle",
    "functions-by-pronoun",
    "loops-without-element",
    *PHRASES,
)
"""The kinds of places, by the name of the bound."""


@cache
def find_places() -> Mapping[str, list[str]]:
    """Return the files and lines of all places by their kind."""
    found: dict[str, list[str]] = {name: [] for name in NAMES}
    for suffix, find in ((".py", module_places), (".md", page_places)):
        for path in _files(suffix):
            for name, line in find(path.read_text("utf-8")):
                found[name].append(f"{path.relative_to(ROOT)}:{line}")
    return found


def _files(suffix: str) -> list[Path]:
    """Return the files of the project, without those that programs have put beside them."""
    files = [*ROOT.glob(f"*{suffix}")]
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob(f"*{suffix}"):
            below = path.relative_to(ROOT / folder).parts
            if not {".venv", "build", "node_modules"}.intersection(below):
                files.append(path)
    return sorted(files)


def module_places(source: str) -> Iterator[tuple[str, int]]:
    """Yield the kind and the line of each place in the code of a module, and in its texts."""
    # A tree that is kept costs the garbage collector more than it costs to parse.
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            for target in ast.walk(node.target):
                if isinstance(target, ast.Name) and target.id in _ELEMENTS:
                    yield "loops-without-element", target.lineno
        elif isinstance(node, ast.Raise) and node.exc is not None:
            for text in ast.walk(node.exc):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield from _phrases(text.value, text.lineno)
        elif isinstance(node, ast.Module | ast.ClassDef | _FUNCTIONS):
            yield from _phrases(ast.get_docstring(node) or "", getattr(node, "lineno", 1))
            if isinstance(node, _FUNCTIONS):
                yield from ((kind, node.lineno) for kind in _kinds_of_name(node))
    for number, line in enumerate(source.splitlines(), 1):
        if comment := _COMMENT.search(line):
            yield from _phrases(comment[1], number)


def page_places(page: str) -> Iterator[tuple[str, int]]:
    """Yield the kind and the line of each place in a page, without its code."""
    code = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith("    "):
            yield from _phrases(line, number)


def _phrases(text: str, line: int) -> Iterator[tuple[str, int]]:
    for name, pattern in PHRASES.items():
        yield from ((name, line) for _ in re.finditer(pattern, text))


def _kinds_of_name(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the kinds of names that a function has, unless it is a property."""
    if not any("property" in ast.unparse(decorator) for decorator in function.decorator_list):
        first, *others = function.name.lstrip("_").split("_")
        if _PARTICIPLES.fullmatch(first) or (not others and re.fullmatch(r"\w+[^e]ed", first)):
            yield "functions-by-participle"
        if function.name.lstrip("_").removeprefix("test_").split("_")[0] in _PRONOUNS:
            yield "functions-by-pronoun"
