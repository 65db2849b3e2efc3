"""Which blocks of pages the tests run: those that they get from `support.docs.pages`.

The calls are read, and not made, so that a run of a few tests knows of all of them.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from support.docs.pages import Block, blocks
from support.folders import ROOT, TESTS

PAGES: Final = tuple(
    str(path.relative_to(ROOT / "docs" if path.parent.name == "docs" else ROOT))
    for path in (
        *sorted((ROOT / "docs").glob("*.md")),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *sorted((ROOT / "examples").rglob("README.md")),
    )
    if not {"node_modules", ".venv"}.intersection(path.parts)
)
"""All pages, by the names that `page` takes."""

# The functions that hand out blocks, with the parameters that say which.
_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "defined": ("name",),
    "example": ("name", "label"),
    "examples": ("name",),
    "programs": ("name",),
    "shown": ("name", "kind", "label"),
}


def taken() -> dict[Block, str]:
    """Return the blocks that tests take, with the test file that does, or one of them."""
    found: dict[Block, str] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "support.docs.pages import" in source:
            name = str(path.relative_to(ROOT))
            found |= dict.fromkeys(taken_by(source), name)
    return found


def taken_by(source: str) -> Iterator[Block]:
    """Yield the blocks that the source of a test takes from pages that it names.

    A page that is no constant, as in a loop over pages, counts for nothing: what looks at all pages
    runs none.
    """
    tree = ast.parse(source)
    texts = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _PARAMETERS
        ):
            yield from _of_call(node, node.func.id, texts)


def _of_call(call: ast.Call, function: str, texts: Mapping[str, str]) -> Iterator[Block]:
    given = dict(zip(_PARAMETERS[function], call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg}
    said = {name: _text(value, texts) for name, value in given.items()}
    page, kind, label = said["name"], said.get("kind", "python"), said.get("label", "")
    if page not in PAGES:
        return
    if kind is None or label is None:
        raise ValueError(f"{ast.unparse(call)} does not say which blocks of {page} it takes")
    for block in blocks(page):
        if block.kind == kind and label in ("", block.label):
            yield block


def _text(node: ast.expr, texts: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return texts.get(node.id)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
