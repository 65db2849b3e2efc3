"""Defaults for callers of the stateless revision, and the leniency of receivers."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp_protogen.runtime.core.errors import InvalidAnswer
from mcp_protogen.runtime.core.models.base import is_supplied, required_members
from support import tables
from support.generated.golden_package import load
from support.revisions import HANDSHAKE, REVISIONS, STATELESS

META: dict[str, Any] = {
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/protocolVersion": STATELESS,
}
CACHEABLE = (
    *("DiscoverResult", "ListPromptsResult", "ListResourceTemplatesResult"),
    *("ListResourcesResult", "ListToolsResult", "ReadResourceResult"),
)
LISTS = {
    "prompts/list": ("iter_prompts", "Prompt"),
    "resources/list": ("iter_resources", "Resource"),
    "resources/templates/list": ("iter_resource_templates", "ResourceTemplate"),
    "tasks/list": ("iter_tasks", "Task"),
    "tools/list": ("iter_tools", "Tool"),
}


def _required_names(cls: Any) -> set[str]:
    names = list(required_members(cls))
    return set(names)


def _requests() -> Iterator[Any]:
    yield from load(STATELESS).methods.REQUESTS.values()


def test_every_request_needs_metadata_on_the_wire_and_none_from_callers() -> None:
    for spec in _requests():
        assert "_meta" in _required_names(spec.params), spec.method
        default = spec.params.model_construct()
        assert is_supplied(default.meta), spec.method
        assert default.meta.to_wire() == META, spec.method


def test_every_result_that_may_be_kept_has_the_narrowest_time_and_scope() -> None:
    m = load(STATELESS).models
    found = {
        cls.__name__
        for spec in _requests()
        for cls in spec.results
        if {"ttlMs", "cacheScope"} <= _required_names(cls)
    }
    assert found == set(CACHEABLE)
    for name in CACHEABLE:
        made = getattr(m, name).model_construct()
        assert (made.ttl_ms, made.cache_scope, made.result_type) == (0, "private", "complete")


def test_earlier_revisions_fill_in_constants_only() -> None:
    for revision in HANDSHAKE:
        m = load(revision).models
        assert m.CallToolRequestParams(name="x").to_wire() == {"name": "x"}
        assert m.ListToolsResult(tools=[]).to_wire() == {"tools": []}


def test_leniency_of_receiver_is_in_rules() -> None:
    rules = load(STATELESS).methods.TABLE.rules
    assert {(leniency.member, leniency.rule): leniency.value for leniency in rules.leniency} == {
        ("resultType", "absent"): "complete",
        ("ttlMs", "absent"): 0,
        ("ttlMs", "negative"): 0,
        ("cacheScope", "absent"): "private",
    }
    assert rules.result_types == ("complete", "input_required")
    assert (rules.era, rules.server_requests) == ("stateless", False)
    assert not load(STATELESS).methods.TABLE.era.has_handshake
    for revision in HANDSHAKE:
        rules = load(revision).methods.TABLE.rules
        assert (rules.era, rules.server_requests) == ("handshake", True)
        assert (rules.leniency, rules.result_types) == ((), ())
        assert load(revision).methods.TABLE.era.has_handshake


@pytest.mark.parametrize("name", CACHEABLE)
def test_results_are_read_without_what_a_receiver_forgives(name: str) -> None:
    package = load(STATELESS)
    spec = next(spec for spec in _requests() if spec.results[0].__name__ == name)
    whole = getattr(package.models, name)
    values: dict[str, Any] = {
        "capabilities": {},
        "supportedVersions": [STATELESS],
        **{list_: [] for list_ in ("contents", "prompts", "resources", "resourceTemplates")},
        "tools": [],
    }
    wire = {member: values[member] for member in _required_names(whole) & values.keys()}
    found = package.methods.TABLE.read_result(spec, {**wire, "ttlMs": -1})
    assert type(found) is whole
    assert (found.ttl_ms, found.cache_scope, found.result_type) == (0, "private", "complete")
    with pytest.raises(InvalidAnswer, match="/result/resultType"):
        package.methods.TABLE.read_result(spec, {**wire, "resultType": "task"})


def _mandatory_arguments(stub: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments without which a stub cannot be called."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    _, *given = inspect.signature(stub).parameters.values()
    return [
        parameter.name
        for parameter in given
        if parameter.kind in kinds and parameter.default is parameter.empty
    ]


def test_every_list_can_be_walked_by_whoever_may_ask_for_it() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            package = load(revision)
            for method, spec in package.methods.REQUESTS.items():
                if "paginated" not in spec.traits:
                    continue
                name, item = LISTS[method]
                senders = {"client": package.Client, "server": package.server.Session}
                for role in spec.senders:
                    walk = getattr(senders[role], name)
                    returned = str(inspect.signature(walk).return_annotation)
                    assert returned.endswith(f".{item}]"), (role, method)
                    assert _mandatory_arguments(walk) == []


def test_params_without_anything_to_say_may_be_left_out() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            package = load(revision)
            for method in ("ping", "server/discover", "prompts/list", "tools/list"):
                if method in package.methods.REQUESTS:
                    name = "_".join(reversed(method.replace("server/", "").split("/")))
                    assert _mandatory_arguments(getattr(package.Client, name)) == []
            assert _mandatory_arguments(package.Client.call_tool) == ["name"]
