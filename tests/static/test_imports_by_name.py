"""Our own modules are imported by name: a look-up by a text gives `Any`, and no checker sees it."""

import ast
from collections.abc import Iterator

from support.folders import ROOT
from support.tables import case

FOLDERS = ("tests", "benchmarks", "docs/website")
OURS = {"benchmarks", "mcp_protogen", "mcp_revisions", "support", "website"}
LOOK_UPS = {"__import__", "import_module"}


def looked_up(code: str) -> Iterator[str]:
    """Return the modules of our code that code looks up by a literal text."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in LOOK_UPS:
            for text in node.args[:1]:
                begin = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
                name = str(begin.value) if isinstance(begin, ast.Constant) else ""
                if name.split(".")[0] in OURS:
                    yield name


def test_look_up_of_our_module_by_text_is_found() -> None:
    for code, found in (
        ('import_module("mcp_revisions")', ["mcp_revisions"]),
        ('importlib.import_module(f"mcp_protogen.runtime.{name}")', ["mcp_protogen.runtime."]),
        ('__import__("support.folders")', ["support.folders"]),
        # Of others, of what a test has generated, and of the revision in question.
        ('import_module("yaml"), import_module("mcp_revisions_made")', []),
        ('import_module(name), import_module(f"{package.__name__}.ext.tasks")', []),
        ('load("mcp_revisions"), import_module()', []),
    ):
        with case(code):
            assert [*looked_up(code)] == found


def test_our_modules_are_imported_by_name() -> None:
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            code = path.read_text(encoding="utf-8")
            # Most files need not be parsed.
            if any(f"{name}(" in code for name in LOOK_UPS) and (names := [*looked_up(code)]):
                found[path.relative_to(ROOT).as_posix()] = names
    assert found == {}
