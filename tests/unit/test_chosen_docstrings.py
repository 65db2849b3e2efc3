"""Docstrings of a package: ours, none, or those of the user's published schemas."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import Docstrings, GenerationOptions, GivenFile
from mcp_protogen.pipeline.emit.formatting import format_module
from mcp_protogen.pipeline.emit.text import WIDTH
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import extensions
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from mcp_protogen.pipeline.package import Package
from support import tables
from support.running import Run

REVISION = "2024-11-05"
LINK = "https://modelcontextprotocol.io/specification/a-page/with-a-long-name-" + "x" * 60
HOSTILE = {
    "quotes": 'It says "a" and """b""" and ends with "',
    "backslashes": "C:\\new\\table \\",
    "control": "bell\x07, null\x00, escape\x1b[0m, next\x85line and \u2028 another",
    "long": f"Begins. {'word ' * 60}See [it]({LINK}). {'y' * 200} ends.",
    "code": "```\n'''\n\"\"\"\n```\n\n- one\n- two",
}


def schema() -> dict[str, Any]:
    """Return the pinned schema, in which two types and some members have texts."""
    document: dict[str, Any] = json.loads((schema_folder() / REVISION / "schema.json").read_text())
    types = document["$defs"]
    types["Tool"]["description"] = "As [published](/specification/tools)."
    types["Prompt"]["description"] = HOSTILE["quotes"]
    members = types["Implementation"]["properties"]
    members["name"]["description"] = HOSTILE["long"]
    members["version"]["description"] = HOSTILE["control"]
    types["Root"]["properties"]["uri"]["description"] = HOSTILE["backslashes"]
    types["Root"]["properties"]["name"]["description"] = HOSTILE["code"]
    return document


def make_package(docstrings: Docstrings, **options: Any) -> Package:
    given = GivenFile("schema.json", json.dumps(schema()).encode())
    schemas = {REVISION: given} if docstrings is Docstrings.SCHEMA else {}
    chosen = GenerationOptions((REVISION,), schemas, docstrings=docstrings)
    return generate(chosen._replace(**options))


def modules(package: Package, *below: str) -> Iterator[tuple[str, str]]:
    """The generated modules of the revision, or of a folder in it, by path."""
    folder = "/".join(("v2024_11_05", *below))
    for file in package.files:
        if file.path.startswith(f"{folder}/") and file.path.endswith(".py"):
            yield file.path, file.content.decode()


def texts(source: str) -> dict[str, str]:
    """The docstrings of classes, members and aliases of a module of models, by name."""
    found: dict[str, str] = {}
    for name, node in _find_docstrings(ast.parse(source)):
        found[name] = ast.literal_eval(node)
    return found


def _find_docstrings(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.expr]]:
    body: list[ast.stmt] = getattr(tree, "body", [])
    for before, node in zip([None, *body], body, strict=False):
        match before, node:
            case _, ast.ClassDef(name=name):
                yield from _find_docstrings(node, name)
            case None, ast.Expr(value=ast.Constant() as text) if owner:
                yield owner, text
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant() as text):
                yield f"{owner}.{name}" if owner else name, text
            case ast.Assign(targets=[ast.Name(name)]), ast.Expr(value=ast.Constant() as text):
                yield name, text
            case _:
                pass


def all_texts(package: Package) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, source in modules(package, "models"):
        found |= texts(source)
    return found


def test_without_docstrings_no_description_is_left() -> None:
    package = make_package(Docstrings.NONE)
    assert all_texts(package) == {}
    ours = json.loads((schema_folder() / "descriptions.json").read_text())
    kinds = ("methods", "capabilities", "errors", "types")
    sentences = [
        text for kind in kinds for text in ours[kind].values() if len(text) > len("Deprecated")
    ]
    for path, source in modules(package):
        assert [text for text in sentences if text in source] == [], path
    assert "Send `tools/call`." in dict(modules(package))["v2024_11_05/client.py"]


def test_a_long_text_is_wrapped_and_no_word_of_it_is_broken() -> None:
    package = make_package(Docstrings.SCHEMA)
    found = all_texts(package)["Implementation.name"]
    assert found.split() == HOSTILE["long"].split()
    lines = [line for line in found.splitlines() if len(line) > WIDTH]
    assert all(len(line.split()) == 1 for line in lines)
    for path, source in modules(package):
        assert format_module(source, ours=False) == source, path


def test_a_schema_without_texts_is_asked_for_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for options, named in (
        (GenerationOptions((REVISION, "2025-11-25")), (REVISION, "2025-11-25")),
        (
            GenerationOptions(("2026-07-28",), extensions={"skills": None, "tasks": None}),
            ("tasks",),
        ),
    ):
        with tables.case(named), pytest.raises(ProblemError) as caught:
            chosen = options._replace(docstrings=Docstrings.SCHEMA)
            if options.extensions:
                extensions.load_all(chosen)
            generate(chosen)
        assert {problem.code for problem in caught.value.problems} == {"no-published-text"}
        hints = [problem.hint for problem in caught.value.problems]
        assert all(f"{name}=FILE" in hint for name, hint in zip(named, hints, strict=True))


@pytest.mark.usefixtures("little")
def test_the_lock_has_them_unless_they_are_ours_and_later_runs_keep_them(mcp_gen: Run) -> None:
    def read_recorded() -> object:
        return json.loads(Path("pkg", LOCK_NAME).read_text())["options"].get("docstrings")

    one = ("--revision", REVISION, "--out", "pkg")
    mcp_gen(*one)
    assert read_recorded() is None
    assert mcp_gen("--out", "pkg", "--check", "--docstrings", "none").code == 1
    mcp_gen(*one, "--docstrings", "none")
    assert read_recorded() == "none"
    assert mcp_gen("--out", "pkg", "--check").code == 0
    assert "options-changed: docstrings" in mcp_gen(*one, "--check", "--docstrings", "ours").out
    mcp_gen(*one, "--docstrings", "ours")
    assert read_recorded() is None
    Path("pyproject.toml").write_text('[tool.mcp-gen]\nout = "pkg"\ndocstrings = "all"\n')
    ran = mcp_gen("--check")
    assert "docstrings in [tool.mcp-gen] must be one of none, ours, schema" in ran.err
