"""A tiny protocol with every shape of an MCP schema, for tests to change.

`schema()` and `facts()` agree with each other and pass the whole pipeline without a warning; both
are made anew on each call.
"""

import importlib
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.base.resources import runtime_files, runtime_folder, templates_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.emit import layout, models
from mcp_protogen.pipeline.emit.models import ModelsSource
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.descriptions import Descriptions
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.snapshot import snapshot_of
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.package import RUNTIME_FOLDER, GeneratedFile, GenerationInputs, Package
from mcp_protogen.pipeline.parts import PartSelection
from support.generating import write_files

Json = dict[str, Any]

REVISION = "2030-01-01"
PAGE = "basic/index"
ANY_OBJECT: Json = {"type": "object", "additionalProperties": {}}
STRING: Json = {"type": "string"}


def ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def record(required: tuple[str, ...] = (), /, **members: Any) -> Json:
    return {"type": "object", "properties": members, "required": sorted(required)}


def full_record(**members: Any) -> Json:
    """Return an object that requires all its members."""
    return record((*members,), **members)


def union(*arms: str) -> Json:
    return {"anyOf": [ref(arm) for arm in arms]}


def message(method: str, params: Json | None = None) -> Json:
    """Return a request or notification; its params are required if given."""
    if params is None:
        return record(("method",), method={"const": method}, params=ref("RequestParams"))
    return record(("method", "params"), method={"const": method}, params=params)


def schema() -> Json:
    """The published schema of the tiny protocol."""
    definitions = {**_messages(), **_capabilities(), **_values()}
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}
    # The parts occur in several places, and tests change their copies.
    separate: Json = json.loads(json.dumps(document))
    return separate


def _messages() -> Json:
    say_params = record(("text", "mode"), text=STRING, mode=ref("Mode"), times={"type": "integer"})
    return {
        "ClientRequest": union("SayRequest", "PingRequest"),
        "ServerRequest": union("AskRequest", "PingRequest"),
        "ClientNotification": union("GoneNotification"),
        "ServerNotification": union("GoneNotification", "LogNotification"),
        "SayRequest": message("echo/say", say_params),
        "PingRequest": message("ping"),
        "AskRequest": message("user/ask", ref("AskRequestParams")),
        "GoneNotification": record(
            ("method",), method={"const": "notifications/gone"}, params=record(reason=STRING)
        ),
        "LogNotification": message("notifications/log", record(("data",), data={})),
        "RequestParams": record(_meta=record(progressToken=ref("Token"))),
        "AskRequestParams": {
            "allOf": [ref("RequestParams"), record(("question",), question=STRING)]
        },
        "Result": {**record(_meta=ANY_OBJECT), "additionalProperties": {}},
        "EmptyResult": ref("Result"),
        "SayResult": record(
            ("content",), content={"type": "array", "items": ref("Block")}, nextCursor=STRING
        ),
        "AskResult": record(("answer",), answer={"type": ["string", "null"]}),
    }


def _capabilities() -> Json:
    flag: Json = {"type": "boolean"}
    return {
        "ClientCapabilities": record(asking=ANY_OBJECT),
        "ServerCapabilities": record(echo=record(loud=flag), logging=ANY_OBJECT),
    }


def _values() -> Json:
    return {
        "Token": {"type": ["string", "integer"]},
        "Mode": {"type": "string", "enum": ["plain", "loud"]},
        "Block": union("TextBlock", "LinkBlock"),
        "TextBlock": record(("type", "text"), type={"const": "text"}, text=STRING),
        "LinkBlock": record(
            ("type", "uri"),
            type={"const": "link"},
            uri={"type": "string", "format": "uri"},
            weight={"type": "number", "minimum": 0, "maximum": 1},
        ),
    }


def facts() -> Json:
    """The facts of the tiny protocol, merged."""
    return {
        "inherits": None,
        "lifecycle": {"era": "handshake", "source": PAGE},
        "rules": {
            "batching": {"receive": False, "send": False, "source": PAGE},
            "error_id_optional": {"value": True, "source": PAGE},
            "server_requests": {"value": True, "source": PAGE},
        },
        "methods": _method_facts(),
        "capabilities": {
            "client": {"asking": {"kind": "presence", "source": PAGE}},
            "server": {
                "echo": {"kind": "presence", "source": PAGE},
                "echo.loud": {"kind": "flag", "source": PAGE},
                "logging": {"kind": "presence", "source": PAGE},
            },
        },
        "errors": {"-32700": {"name": "PARSE_ERROR", "emit": "both", "source": PAGE}},
        "meta_keys": {
            "progressToken": {"on": ["request"], "type": "Token", "required": False, "source": PAGE}
        },
        "types": {"open": {"Result": {"source": PAGE}}},
        "content_blocks": {"types": ["TextBlock", "LinkBlock"], "source": PAGE},
        "unions": {"Block": {"arms": ["TextBlock", "LinkBlock"], "source": PAGE}},
        "enums": {"Mode": {"values": ["plain", "loud"], "source": PAGE}},
    }


def facts_of_pages() -> Json:
    """The facts, with the member that has the cursor of the next page."""
    return {**facts(), "places": {"next_cursor": {"path": "nextCursor", "source": PAGE}}}


def _method_facts() -> Json:
    return {
        "echo/say": _method("SayRequest", ["client"], "SayRequestParams", ["SayResult"])
        | {"requires": {"server.echo": {"level": "MUST", "source": PAGE}}, "traits": ["paginated"]},
        "ping": _method("PingRequest", ["client", "server"], "RequestParams", ["EmptyResult"])
        | {"params_required": False},
        "user/ask": _method("AskRequest", ["server"], "AskRequestParams", ["AskResult"])
        | {"requires": {"client.asking": {"level": "MUST", "source": PAGE}}},
        "notifications/gone": _method(
            "GoneNotification", ["client", "server"], "GoneNotificationParams", []
        )
        | {"params_required": False},
        "notifications/log": _method("LogNotification", ["server"], "LogNotificationParams", []),
    }


def _method(name: str, senders: list[str], params: str, results: list[str]) -> Json:
    return {
        "message": name,
        "kind": "request" if results else "notification",
        "senders": senders,
        "params": params,
        "params_required": True,
        "results": results,
        "phase": "any",
        "since": REVISION,
        "source": PAGE,
    }


def schema_file(document: Any, name: str = "tiny.json") -> GivenFile:
    return GivenFile(name, json.dumps(document).encode())


def derive(document: Json, stated: Json | None = None) -> DerivedRevision:
    """Derive the revision of the schema and its facts, without running the writers."""
    source = RevisionSource(
        schema=snapshot_of(document, "tiny.json"),
        patches=(),
        facts=Facts(REVISION, stated or facts(), REVISION),
        descriptions=Descriptions({}),
        place="tiny.json",
        patches_place="patches.json",
        facts_place="facts.json",
    )
    return derive_revision(source)


def make(document: Any, revision: str = "draft") -> Package:
    """Return the package for a user's own schema, with facts inherited from a known revision."""
    return generate(GenerationOptions((revision,), {revision: schema_file(document)}))


def make_models(document: Any) -> Package:
    """Return only the models of `make` and the runtime, in a fraction of the time."""
    found = read(document)
    _, module = layout.models_modules(
        found.ir, [models_source(found.ir)], Renderer(templates_folder())
    )
    file = GeneratedFile("models/all.py", module.text.encode(), module.origin)
    files = (file, *layout.fixed_files(runtime_folder(), runtime_files(), PartSelection(())))
    return Package(files, GenerationInputs("", "", "", "", {}, {}), found.warnings)


def models_source(ir: RevisionIR) -> ModelsSource:
    """All models of a revision in one module."""
    definer = models.TypeDefiner(templates_folder())
    (source,) = models.emit(ir, definer, f"..{RUNTIME_FOLDER}", {"all": ir.types})
    return source


def text_of(package: Package, path: str) -> str:
    return next(file.content for file in package.files if file.path == path).decode()


def read(document: Any, revision: str = "draft") -> DerivedRevision:
    """Derive the revision of a user's own schema, as `make` does before it writes."""
    source = sources.load(
        revision, GenerationOptions((revision,), {revision: schema_file(document)})
    )
    return derive_revision(source)


def problems_of(document: Any, revision: str = "draft") -> tuple[Problem, ...]:
    """Return the problems for which a schema is refused; fail if it is accepted."""
    try:
        read(document, revision)
    except ProblemError as error:
        return error.problems
    raise AssertionError("the schema was not refused")


def errors_of(document: Any) -> list[Problem]:
    """Return the errors for which a schema is refused; fail if it is accepted."""
    found = problems_of(document)
    return [problem for problem in found if problem.level is Level.ERROR]


def validator(document: Json) -> Any:
    """A validator with `is_valid` and `iter_errors`."""
    return Draft202012Validator(document)


@contextmanager
def import_package(package: Package, folder: Path, name: str) -> Generator[ModuleType, None, None]:
    """Write the package `name` into `folder` and import it until the context ends."""
    write_files(package.files, folder / name)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        for module in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[module]
