"""Turns of phrase and names that make a reader stop: where they are, in the whole checkout."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

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
_LOOPS = ast.For | ast.AsyncFor | ast.comprehension
_NODES = _FUNCTIONS | _LOOPS | ast.Module | ast.ClassDef | ast.Raise


class Place(NamedTuple):
    path: Path
    line: int


@cache
def _files(suffix: str) -> list[Path]:
    """Return the files of the project, without those that programs have put beside them."""
    files = [*ROOT.glob(f"*{suffix}")]
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob(f"*{suffix}"):
            below = path.relative_to(ROOT / folder).parts
            if not {".venv", "build", "node_modules"}.intersection(below):
                files.append(path)
    return sorted(files)


@cache
def _modules() -> dict[Path, list[ast.AST]]:
    """Return the nodes of each module that have a name or a text."""
    return {
        path: [
            node
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, _NODES)
        ]
        for path in _files(".py")
    }


def module_texts(source: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, the texts of raised errors and the comments of a module."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | _FUNCTIONS):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
        elif isinstance(node, ast.Raise) and node.exc is not None:
            for text in ast.walk(node.exc):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.lineno, text.value
    for number, line in enumerate(source.splitlines(), 1):
        if comment := _COMMENT.search(line):
            yield number, comment[1]


def page_texts(page: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page that are not code."""
    code = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith("    "):
            yield number, line


@cache
def _texts() -> list[tuple[Place, str]]:
    modules = (
        (Place(path, line), text)
        for path, nodes in _modules().items()
        for line, text in module_texts(path.read_text("utf-8"), nodes)
    )
    pages = (
        (Place(path, line), text)
        for path in _files(".md")
        for line, text in page_texts(path.read_text("utf-8"))
    )
    return [*modules, *pages]


def find_phrases(name: str) -> Iterator[Place]:
    pattern = re.compile(PHRASES[name])
    for place, text in _texts():
        yield from (place for _ in pattern.finditer(text))


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def has_participle_name(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the name of a function, not a property, is a participle without a noun."""
    first, *others = function.name.lstrip("_").split("_")
    found = _PARTICIPLES.fullmatch(first) or (not others and re.fullmatch(r"\w+[^e]ed", first))
    return bool(found) and not _is_property(function)


def has_pronoun_name(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the name of a function begins with a pronoun, that of a test after `test_`."""
    first = function.name.lstrip("_").removeprefix("test_").split("_")[0]
    return first in _PRONOUNS and not _is_property(function)


def find_functions(
    matches: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], bool],
) -> Iterator[Place]:
    for path, nodes in _modules().items():
        for node in nodes:
            if isinstance(node, _FUNCTIONS) and matches(node):
                yield Place(path, node.lineno)


def unnamed_elements(loop: ast.For | ast.AsyncFor | ast.comprehension) -> Iterator[ast.Name]:
    """Yield the variables of a loop that do not name its element."""
    for target in ast.walk(loop.target):
        if isinstance(target, ast.Name) and target.id in _ELEMENTS:
            yield target


def find_loops() -> Iterator[Place]:
    """Yield the variables of loops and comprehensions that do not name the element."""
    for path, nodes in _modules().items():
        for node in nodes:
            if isinstance(node, _LOOPS):
                yield from (Place(path, name.lineno) for name in unnamed_elements(node))


FINDERS: Final[Mapping[str, Callable[[], Iterator[Place]]]] = {
    "functions-by-participle": partial(find_functions, has_participle_name),
    "functions-by-pronoun": partial(find_functions, has_pronoun_name),
    "loops-without-element": find_loops,
    **{name: partial(find_phrases, name) for name in PHRASES},
}
"""What finds the places of each kind, by the name of the bound."""
