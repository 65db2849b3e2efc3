"""The blocks of pages that tests run: those that they get from `support.docs.pages`.

The calls are read, not made, so a run of a few tests knows all of them.
"""

import ast
from collections.abc import Iterator, Mapping
from inspect import Signature, signature
from typing import Any, Final

from support.docs.pages import Block, block_texts, blocks, example, examples, programs, run_page
from support.folders import ROOT, TESTS

PAGES: Final = tuple(
    str(path.relative_to(ROOT / "docs" if path.parent.name == "docs" else ROOT))
    for path in (
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "contributing").glob("*.md")),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *sorted((ROOT / "examples").rglob("README.md")),
    )
    if not {"node_modules", ".venv"}.intersection(path.parts)
)
"""All pages, by the names that `page` takes."""

_FUNCTIONS: Final = {
    function.__name__: signature(function)
    for function in (run_page, example, examples, programs, block_texts)
}
"""The functions that hand out blocks; `name`, `kind` and `label` say which."""


def all_taken_blocks() -> set[Block]:
    sources = (path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py"))
    users = (source for source in sources if "support.docs.pages import" in source)
    return {block for source in users for block in blocks_taken_by(source)}


def blocks_taken_by(source: str) -> Iterator[Block]:
    """Yield the blocks that the source of a test takes from named pages.

    A page that is not a constant, as in a loop over pages, does not count: a test of all pages runs
    none.
    """
    tree = ast.parse(source)
    texts = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = _FUNCTIONS.get(node.func.id)
            yield from _of_call(node, function, texts) if function else ()


def _constants(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), node.value.value


def _of_call(call: ast.Call, function: Signature, texts: Mapping[str, Any]) -> Iterator[Block]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given = function.bind_partial(*call.args, **keywords).arguments
    said = {name: _text(value, texts) for name, value in given.items()}
    page, kind, label = said["name"], said.get("kind", "python"), said.get("label", "")
    if page not in PAGES:
        return
    if kind is None or label is None:
        raise ValueError(f"{ast.unparse(call)} does not say which blocks of {page} it takes")
    for block in blocks(page):
        if block.kind == kind and label in ("", block.label):
            yield block


def _text(node: ast.expr, texts: Mapping[str, Any]) -> Any:
    """Return a constant, or the value of a name; None if unknown."""
    if isinstance(node, ast.Name):
        return texts.get(node.id)
    return node.value if isinstance(node, ast.Constant) else None
