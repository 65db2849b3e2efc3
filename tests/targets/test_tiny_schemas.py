"""Every target makes modules that can be imported of schemas that lack what others have."""

import ast
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

import pytest
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.target import LAYERS, LAYOUTS, Layer, TargetOptions
from support import tables
from support.generated.repeated_names import repeated_names
from support.generating import without_layout, write_files
from support.programs import run_program
from support.targets.typescript import complaints
from support.unit.schemas import STRING, Json, message, record, ref, schema_file, union

TARGETS: Final = ("dataclasses", "msgspec", "pydantic", "typeddict", "typescript")
_LEAST: Final[Json] = {
    "ClientRequest": union("PingRequest"),
    "ServerRequest": union("PingRequest"),
    "ClientNotification": union("GoneNotification"),
    "ServerNotification": union("GoneNotification"),
    "PingRequest": message("ping"),
    "GoneNotification": record(("method",), method={"const": "notifications/gone"}),
    "RequestParams": record(),
    "NotificationParams": record(),
    "EmptyResult": record(),
}
"""One request and one notification; no union of types, no enumeration, no capability."""


def without(*names: str, **others: Json) -> Json:
    """Return the least schema without some definitions, and with others."""
    return {**{name: value for name, value in _LEAST.items() if name not in names}, **others}


_KIND: Final[Json] = record(("type",), type={"const": "a"})
TINY: Final[dict[str, Json]] = {
    "least": _LEAST,
    "no requests of servers": without("ServerRequest"),
    "no notifications of clients": without("ClientNotification"),
    "no notifications of servers": without("ServerNotification"),
    "one request alone": {
        "ClientRequest": union("PingRequest"),
        "ServerNotification": {"anyOf": [{"type": "null"}]},
        "ClientNotification": {"type": "null"},
        "PingRequest": message("ping"),
        "RequestParams": record(),
        "EmptyResult": record(),
    },
    "two results": without(
        SayRequest=message("say"), SayResult=record(x=STRING), ClientRequest=union("SayRequest")
    ),
    "capability": without(ServerCapabilities=record(logging=record())),
    "enumeration": without(Mode={"enum": ["a", "b"]}),
    "constant": without(Mode={"const": "a"}),
    "union": without(A=_KIND, B=record(x=STRING), U=union("A", "B")),
    "union of one": without(A=_KIND, U=union("A")),
    "alias of anything": without(A={}),
    "type without members": without(A=record(), B={"type": "array", "items": ref("A")}),
    "empty array": without(A={"type": "array", "items": False}, B=record(x=ref("A"))),
    "type that contains itself": without(A=record(a=ref("A"))),
    "alias that contains itself": without(A={"type": "array", "items": ref("A")}),
}
_LAYERS: Final[tuple[tuple[Layer, ...], ...]] = (LAYERS, *((layer,) for layer in LAYERS))
LAYOUTS_OF_LAYERS: Final = tuple(product(LAYOUTS, _LAYERS))
FEW: Final = 4


def make_packages(target: str, definitions: Json) -> Iterator[tuple[str, Package]]:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}
    for layout, layers in tables.some(LAYOUTS_OF_LAYERS, FEW, f"{[*definitions]} as {target}"):
        options = TargetOptions(target, layers, layout)
        name = f"{layout}_{'_'.join(layers)}"
        with without_layout():
            yield name, generate(
                GenerationOptions(("x",), {"x": schema_file(schema)}, target=options)
            )


@pytest.mark.parametrize("target", [language for language in TARGETS if language != "typescript"])
def test_modules_of_tiny_schemas_can_be_imported(target: str, tmp_path: Path) -> None:
    imports: list[str] = []
    for place, (schema, definitions) in enumerate(TINY.items()):
        with tables.case(schema):
            for name, package in make_packages(target, definitions):
                folder = tmp_path / f"t{place}_{name}"
                for path in write_files(package.files, folder):
                    if path.suffix == ".py":
                        assert repeated_names(ast.parse(path.read_text())) == []
                        module = path.relative_to(tmp_path).with_suffix("").as_posix()
                        imports.append(module.replace("/", ".").removesuffix(".__init__"))
    program = "\n".join(f"import {name}" for name in imports)
    run_program(sys.executable, "-c", program, cwd=tmp_path)


def test_typescript_of_tiny_schemas_has_no_errors(tmp_path: Path) -> None:
    files: list[str] = []
    (tmp_path / "package.json").write_text('{"type": "module"}\n')
    for place, (schema, definitions) in enumerate(TINY.items()):
        with tables.case(schema):
            for name, package in make_packages("typescript", definitions):
                written = write_files(package.files, tmp_path / f"t{place}_{name}")
                files += [str(path) for path in written if path.suffix == ".ts"]
    assert complaints(tmp_path, *files) == []
