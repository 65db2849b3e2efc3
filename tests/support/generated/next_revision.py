"""A copy of this checkout with one made-up revision more.

It is the newest one with a request, a capability for it, and an optional member of an existing
type. It lacks a member, has a type and a member under other names, requires one that might be
absent, and has one inside a new object. Code and tests find everything relative to themselves, so a
copy needs no switch for the place of schemas.
"""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support.folders import ROOT
from support.json_types import read_json
from support.missing import SHARED
from support.programs import run_program
from support.revisions import NEWEST
from support.unit.schemas import full_record, ref

Json = dict[str, Any]

NEXT: Final = f"{int(NEWEST[:4]) + 1}-01-01"
METHOD: Final = "resources/measure"
_FOLDERS: Final = ("codegen", "templates", "schema", "tests", "docs", "examples")
_FILES: Final = ("README.md", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Checkout:
    folder: Path

    @property
    def schema(self) -> Path:
        return self.folder / "schema"

    @property
    def generated(self) -> Path:
        return self.folder / "generated"

    @property
    def path(self) -> str:
        return os.pathsep.join(
            str(self.folder / folder) for folder in ("codegen", "generated", "docs")
        )

    def run(self, *arguments: str, folder: str = ".", code: int = 0) -> str:
        """Run Python on the copy, expecting an exit code; return its output."""
        return run_program(
            sys.executable,
            *arguments,
            cwd=self.folder / folder,
            env={**os.environ, "PYTHONPATH": self.path},
            code=code,
        )


def copy_checkout(place: Path) -> Checkout:
    """Copy this checkout into a folder, as far as generation and tests need it."""
    checkout = Checkout(place / "checkout")
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, checkout.folder / name)
    for name in _FILES:
        shutil.copy2(ROOT / name, checkout.folder)
    # Where tests look for reference material.
    (place / SHARED.name).symlink_to(SHARED)
    return checkout


def add_next(checkout: Checkout) -> None:
    """Do a maintainer's work for a new revision, except generating it."""
    schema = checkout.schema
    published = checkout.folder / "published.json"
    published.write_text(json.dumps(_make_published(read_json(schema / NEWEST / "schema.json"))))
    checkout.run("-m", "mcp_protogen", "schema", "add", NEXT, "--from", str(published))
    published.unlink()
    # It inherits the faults of the earlier file.
    shutil.copy(schema / NEWEST / "patches.json", schema / NEXT)
    _write(
        schema / NEXT / "facts.json", _facts(read_json(schema / NEWEST / "facts.json")["unions"])
    )
    _write(schema / NEXT / "translation.json", _TRANSLATION)
    described = read_json(schema / "descriptions.json")
    for kind, texts in _DESCRIPTIONS.items():
        described[kind] |= texts
    _write(schema / "descriptions.json", described)


def _write(file: Path, content: Json) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")


def _make_published(schema: Json) -> Json:
    types: Json = schema["$defs"]
    string: Json = {"type": "string"}
    envelope = {"id": ref("RequestId"), "jsonrpc": {"const": "2.0", "type": "string"}}
    types["MeasureResourceRequestParams"] = full_record(
        _meta=ref("RequestMetaObject"), uri={**string, "format": "uri"}
    )
    types["MeasureResourceRequest"] = full_record(
        **envelope, method={"const": METHOD, **string}, params=ref("MeasureResourceRequestParams")
    )
    types["MeasureResourceResult"] = full_record(
        bytes={"type": "integer", "minimum": 0}, resultType=string
    )
    types["MeasureResourceResult"]["properties"]["_meta"] = ref("ResultMetaObject")
    types["MeasureResourceResultResponse"] = full_record(
        **envelope, result=ref("MeasureResourceResult")
    )
    types["ClientRequest"]["anyOf"].append(ref("MeasureResourceRequest"))
    types["ServerResult"]["anyOf"].append(ref("MeasureResourceResult"))
    types["ServerCapabilities"]["properties"]["measuring"] = ref("JSONObject")
    types["Prompt"]["properties"]["language"] = string
    del types["PromptReference"]["properties"]["title"]
    types["ModelSuggestion"] = {**types.pop("ModelHint"), "required": ["name"]}
    preferences = types["ModelPreferences"]["properties"]
    preferences["suggestions"] = {"items": ref("ModelSuggestion"), "type": "array"}
    del preferences["hints"]
    types["History"] = {"type": "object", "properties": {"modified": string}}
    annotations = types["Annotations"]["properties"]
    annotations["history"] = ref("History")
    del annotations["lastModified"]
    return schema


def _facts(unions: Json) -> Json:
    page = "server/resources#measuring"
    gate: Json = {"server.measuring": {"level": "MUST", "source": page}}
    return {
        "inherits": NEWEST,
        "methods": {
            METHOD: {
                "message": "MeasureResourceRequest",
                "kind": "request",
                "senders": ["client"],
                "params": "MeasureResourceRequestParams",
                "params_required": True,
                "results": ["MeasureResourceResult"],
                "requires": gate,
                "phase": "any",
                "traits": ["cancellable"],
                "since": NEXT,
                "source": page,
            }
        },
        "types": {
            "open": {"ModelHint": None, "ModelSuggestion": {"source": "schema.ts"}},
            "deprecated": {"ModelHint": None, "ModelSuggestion": {"source": "schema.ts"}},
        },
        "capabilities": {"server": {"measuring": {"kind": "presence", "source": page}}},
        "unions": {
            name: {"arms": [*unions[name]["arms"], arm], "source": "schema.ts"}
            for name, arm in (
                ("ClientRequest", "MeasureResourceRequest"),
                ("ServerResult", "MeasureResourceResult"),
            )
        },
    }


_TRANSLATION: Final[Json] = {
    "older": NEWEST,
    "became": {"ModelHint": "ModelSuggestion"},
    "rules": [
        {
            "at": ["PromptReference.title"],
            "up": {"drop": "lossy"},
            "reason": "A prompt is found by its name.",
            "source": "server/utilities/completion#reference-types",
        },
        {
            "at": ["ModelPreferences.hints"],
            "up": {"move": "suggestions"},
            "reason": "Hints are called suggestions.",
            "source": "client/sampling#model-preferences",
        },
        {
            "at": ["ModelPreferences.suggestions"],
            "down": {"move": "hints"},
            "reason": "Suggestions were called hints.",
            "source": "client/sampling#model-preferences",
        },
        {
            "at": ["ModelSuggestion.name"],
            "up": {"add": "any"},
            "reason": "A suggestion has a name, which a hint may lack.",
            "source": "client/sampling#model-preferences",
        },
        {
            "at": ["Annotations.lastModified"],
            "up": {"move": "history.modified"},
            "reason": "Dates of a resource have an object of their own.",
            "source": "server/resources#annotations",
        },
        {
            "at": ["Annotations.history"],
            "down": {"move": {"modified": "lastModified"}},
            "reason": "Dates of a resource were beside its other annotations.",
            "source": "server/resources#annotations",
        },
        {
            "at": ["Prompt.language"],
            "down": {"drop": "harmless"},
            "reason": "A prompt says by itself which language it is in.",
            "source": "server/prompts#prompt",
        },
    ],
    "errors": [],
}

_DESCRIPTIONS: Final[Json] = {
    "capabilities": {"server.measuring": "The server can say how large a resource is."},
    "fields": {
        "MeasureResourceRequestParams.uri": "The resource to measure.",
        "MeasureResourceResult.bytes": "How large it is.",
        "Annotations.history": "When it was changed.",
        "History.modified": "The time of the last change.",
        "ModelPreferences.suggestions": "Models that would be welcome, the best first.",
        "ModelSuggestion.name": "Part of the name of a model.",
        "Prompt.language": "The language it is written in.",
    },
    "methods": {METHOD: "Ask how large a resource is."},
    "types": {
        "History": "The dates of a resource.",
        "ModelSuggestion": "A model that would be welcome.",
        "MeasureResourceRequest": "Asks the server how large a resource is.",
        "MeasureResourceRequestParams": "Which resource is to be measured.",
        "MeasureResourceResult": "The answer to `resources/measure`.",
        "MeasureResourceResultResponse": "The response to `resources/measure`.",
    },
}
