"""The generated extension apps: its types in each revision."""

import json
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive import extension as derive
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import extensions, sources
from mcp_protogen.runtime.core.models.base import validator_of
from support.generated.golden_package import load
from support.missing import reference
from support.tables import case

validators: Any = import_module("jsonschema.validators")  # comes with types in part

APPS = extensions.load("apps", schema_folder())


def ext_of(revision: str) -> Any:
    return load(f"{revision}+apps")


def test_apps_extension_exists_for_revisions_with_tool_metadata() -> None:
    for revision in ("2025-06-18", "2025-11-25", "2026-07-28"):
        ext = ext_of(revision)
        assert ext.EXTENSION.identifier == "io.modelcontextprotocol/ui"
        assert ext.EXTENSION.settings["client"] == {"mimeTypes": ["text/html;profile=mcp-app"]}
        assert ext.EXTENSION.settings["server"] == {}
        assert not ext.EXTENSION.requests and not ext.EXTENSION.notifications
        assert ext.models.__all__ == APPS.facts["types"]["names"]
    for revision in ("2024-11-05", "2025-03-26"):
        with pytest.raises(ModuleNotFoundError):
            ext_of(revision)


def test_models_accept_what_the_published_schema_accepts() -> None:
    file = reference("published/extensions/apps.schema.json", "models of apps fit their schema")
    schema = json.loads(file.read_bytes())
    values: tuple[Any, ...] = (
        {}, [], "model", "app", "host", 1,
        {"mimeTypes": ["text/html"]}, {"mimeTypes": "text/html"}, {"mimeTypes": [1]},
        {"resourceUri": "ui://a"}, {"resourceUri": 1}, {"visibility": ["app", "model"]},
        {"visibility": ["host"]}, {"visibility": "app"},
        {"connectDomains": ["https://a"]}, {"frameDomains": "https://a"}, {"baseUriDomains": [1]},
        {"camera": {}, "clipboardWrite": {}}, {"camera": True},
        {"csp": {"resourceDomains": ["https://a"]}, "domain": "a", "prefersBorder": False},
        {"csp": {"resourceDomains": 1}}, {"permissions": {"camera": []}}, {"domain": 1},
        {"prefersBorder": "no"},
    )  # fmt: skip
    for name in APPS.facts["types"]["names"]:
        published = schema["$defs"][name]
        accepts = validators.Draft202012Validator(published).is_valid
        members: Any = published.get("properties", {}).items()
        known = {member for member, member_schema in members if member_schema != {"not": {}}}
        for value in values:
            if isinstance(value, dict) and value.keys() - known:
                continue  # further members, which only ours let through
            with case(f"{name} {value}"):
                try:
                    validator_of(getattr(ext_of("2026-07-28").models, name))(value)
                except ValueError:
                    assert not accepts(value)
                else:
                    assert accepts(value)


def test_a_type_that_the_schema_does_not_have_is_a_problem_with_its_place() -> None:
    facts = {**APPS.facts, "types": {"names": ["McpUiToolMeta", "McpUiTheory"], "source": "page"}}
    source = sources.load("2026-07-28", GenerationOptions(("2026-07-28",)))
    changed = replace(APPS, facts=facts)
    with pytest.raises(ProblemError) as stopped:
        derive.derive_extension(changed, source, derive_revision(source).ir)
    [problem] = stopped.value.problems
    assert (problem.code, problem.pointer) == ("unknown-type", "/types/names/1")
