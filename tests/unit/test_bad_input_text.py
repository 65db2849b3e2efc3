"""Text of a schema stays text: whatever it holds, generated modules gain no statement from it."""

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from support import tables
from support.unit import schemas
from support.unit.schemas import STRING, Json, record, ref, union

STATEMENT = "__import__('pathlib').Path('MARKER').touch()"
PAYLOADS = {
    "docstring": f'"""\n{STATEMENT}\n"""',
    "docstring of the other kind": f"'''\n{STATEMENT}\n'''",
    "escaped docstring": f'\\"""\n{STATEMENT}\n\\"""',
    "call": f'"); {STATEMENT}; ("',
    "call of the other kind": f"'); {STATEMENT}; ('",
    "subscript": f'"], {STATEMENT}, x["',
    "lines": f"\n\n{STATEMENT}\n\n",
    "indented lines": f"x\n    \n    {STATEMENT}\n",
    "carriage return": f"x\r{STATEMENT}\r\n{STATEMENT}",
    "line separators": f"x\u2028{STATEMENT}\u2029{STATEMENT}\x85{STATEMENT}\x0b{STATEMENT}\x0c",
    "template": "{{ ''.__class__.__mro__ }}{% import 'os' as os %}{# x #}",
    "format": "{x} %s %(x)s $x ${x} {0.__class__}",
    "escapes": "\\x22\\x22\\x22 \\u0022 \\N{QUOTATION MARK} \\042 \\\n",
    "backslash at the end": "x\\",
    "backslashes and quotes": "\\\\\"\\\"'\\'\\\\'",
    "quote": '"',
    "quotes": '""',
    "many quotes": '"""""""',
    "quote at the end": 'say "x"',
    "apostrophes": "'''''",
    "controls": "".join(map(chr, [*range(1, 32), 127, *range(128, 160)])),
    "null": "a\x00b",
    "direction marks": "a\u202eb\u2066c\u200bd\ufeffe",
    "other scripts": "é 日本語 😀 \u0301 𝐀 \U0010ffff",
    "comment": "# type: ignore\n# -*- coding: utf-7 -*-",
    "long": "word " * 500 + "w" * 500,
    "spaces": " \t \n ",
}
# Names refuse it, or keep only letters, digits and underscores.
NAME_PAYLOADS = ["__import__('os')", "x; y", "x\n", "x)", 'x"', "é", "__class__", "{{x}}"]


def document(texts: list[str]) -> Json:
    """The tiny schema with each of `texts` in every place that takes any text."""
    made = schemas.schema()
    definitions: Json = made["$defs"]
    for number, text in enumerate(texts):
        _add(definitions, f"{number:02}", text)
    return made


def _add(definitions: Json, number: str, text: str) -> None:
    kind = f"{text}/kindOf"
    own: Json = {
        f"Mode{number}": {"type": "string", "enum": ["plain", text]},
        f"Link{number}": record(("type",), type={"const": f"z{text}"}, mode=ref(f"Mode{number}")),
        f"Odd{number}Request": schemas.message(f"z{number}/{text}"),
        f"Tagged{number}": union(f"Tagged{number}A", f"Tagged{number}B"),
        f"Tagged{number}A": record((kind,), **{kind: {"const": "a"}}),
        f"Tagged{number}B": record((kind,), **{kind: {"const": "b"}}),
        f"Prefixed{number}": record(**{f"{text}/other": STRING, "items": ref(f"Tagged{number}")}),
        f"NeedsOne{number}": {
            **record(**{f"{text}/a": STRING, f"{text}/b": STRING}),
            "anyOf": [{"required": [f"{text}/a"]}, {"required": [f"{text}/b"]}],
        },
    }
    for definition in own.values():
        definition |= {"description": text, "title": text, "$comment": text, "x-note": text}
        definition["default"] = text
        prose = {"description": text, "title": text, "default": text, "examples": [text]}
        members: Json = definition.get("properties", {})
        for name, member in members.items():
            members[name] = {**member, **prose}
    definitions |= own
    definitions["ClientRequest"]["anyOf"].append(ref(f"Odd{number}Request"))
    # The name of its constant comes from the text.
    definitions["ServerCapabilities"]["properties"][f"zz{number}{text}/z{number}"] = {
        "type": "boolean"
    }


def shape(source: str) -> str:
    """The structure of a module without its texts, and without the one name made of such a text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
        elif isinstance(node, ast.Name) and node.id.startswith("SERVER_ZZ"):
            assert node.id.isidentifier() and node.id.isascii()
            node.id = "SERVER_ZZ"
    return ast.dump(tree)


def shapes(package: Package) -> dict[str, str]:
    own = [file for file in package.files if file.path.startswith("vdraft/")]
    return {file.path: shape(file.content.decode()) for file in own}


@pytest.fixture(scope="module")
def crafted_package() -> Package:
    return schemas.make(document(list(PAYLOADS.values())))


@pytest.fixture(scope="module")
def draft(
    crafted_package: Package, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModuleType]:
    """The crafted package, imported where its payloads would leave their mark."""
    with pytest.MonkeyPatch.context() as patch:
        here = tmp_path_factory.mktemp("here")
        patch.chdir(here)
        with schemas.import_package(
            crafted_package, tmp_path_factory.mktemp("crafted"), "crafted"
        ) as module:
            yield module.load("draft")
        assert not any(here.iterdir())


def test_crafted_text_adds_no_statement(crafted_package: Package) -> None:
    harmless = schemas.make(document([f"harmless{number}" for number in range(len(PAYLOADS))]))
    assert shapes(crafted_package) == shapes(harmless)


def test_importing_crafted_text_runs_nothing(draft: ModuleType) -> None:
    assert draft.client.Client and draft.server.Server
    draft.models.NeedsOne00.from_wire({f"{PAYLOADS['docstring']}/a": ""})
    assert not Path("MARKER").exists()
    assert not any(Path().iterdir())


def test_crafted_text_keeps_its_value(draft: ModuleType) -> None:
    for number, (name, text) in enumerate(PAYLOADS.items()):
        with tables.case(name):
            keeps_its_value(f"{number:02}", text, draft)


def keeps_its_value(number: str, text: str, draft: ModuleType) -> None:
    def model(name: str) -> Any:
        return getattr(draft.models, f"{name}{number}")

    assert f"z{number}/{text}" in draft.methods.REQUESTS
    link = model("Link")(mode=text)
    assert link.to_wire() == {"type": f"z{text}", "mode": text}
    assert model("Link").from_json(link.to_json()) == link
    assert model("Prefixed").from_wire({f"{text}/other": "x"}).other == "x"
    tagged = {"items": {f"{text}/kindOf": "b"}}
    assert model("Prefixed").from_wire(tagged).to_wire() == tagged
    assert model("Prefixed").from_wire(tagged).items.kind_of == "b"
    assert model("NeedsOne").from_wire({f"{text}/b": ""}).b == ""
    with pytest.raises(ValueError):
        model("NeedsOne").from_wire({})


def test_generated_text_is_plain_utf8_without_invisible_characters(
    crafted_package: Package,
) -> None:
    for file in crafted_package.files:
        visible = file.content.decode().replace("\n", "")
        assert not [char for char in visible if ord(char) < 32 or 127 <= ord(char) < 160]
        assert not set(visible) & set("\u200b\u2028\u2029\u202e\u2066\ufeff")


def test_code_in_a_name_is_refused() -> None:
    for place, name in product(("type", "member", "capability", "message"), NAME_PAYLOADS):
        with tables.case(f"{place} {name}"):
            is_refused(place, name)


def is_refused(place: str, name: str) -> None:
    made = schemas.schema()
    definitions: Json = made["$defs"]
    if place == "type":
        definitions[f"A{name}"] = record(x=STRING)
    elif place == "member":
        definitions["A"] = record(**{name: STRING})
    elif place == "capability":
        definitions["ServerCapabilities"]["properties"][name] = {"type": "boolean"}
    else:
        definitions[f"{name}Request"] = schemas.message("x")
        definitions["ClientRequest"] = union("SayRequest", f"{name}Request")
    if name == "__class__" and place != "message":
        assert schemas.read(made).ir  # letters and underscores: A__class__, class_
        return
    with pytest.raises(ProblemError) as caught:
        schemas.read(made)
    assert caught.value.problems[0].code == "unsafe-name"


def test_the_name_of_the_schema_file_is_not_printed() -> None:
    name = f'"""\n{STATEMENT}\n"""'
    given = schemas.schema_file(schemas.schema())._replace(name=name)
    options = GenerationOptions(("draft",), {"draft": given})
    for file in generate(options).files:
        assert b"MARKER" not in file.content
