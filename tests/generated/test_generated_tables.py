"""The method tables agree with the reference facts from the specification's pages."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import mcp_revisions
import pytest
from mcp_protogen.base import names
from support import missing, tables
from support.generated import oracle
from support.generated.golden_package import REVISIONS, load, shared_json

Json = dict[str, Any]

FACTS = "spec/spec-facts.json"

# Conditions on members of the params, which the facts state in words.
CONDITIONS: dict[str | None, frozenset[str]] = {
    None: frozenset(),
    "params.mode absent or form": frozenset({"params.mode is form or absent"}),
    "params.mode is url": frozenset({"params.mode is url"}),
    "params.tools or params.toolChoice present": frozenset(
        {"params.tools is present", "params.toolChoice is present"}
    ),
    "params.includeContext is thisServer or allServers": frozenset(
        {"params.includeContext is thisServer or allServers"}
    ),
}
AUGMENTED = frozenset({"params.task is present"})

# basic/utilities/tasks: clients MUST NOT augment calls of tools without the capability, while
# requestors in general SHOULD only augment what the receiver declared.
TASK_LEVELS = {
    "tools/call": "MUST",
    "sampling/createMessage": "SHOULD",
    "elicitation/create": "SHOULD",
}

Gate = tuple[str, str, str, str, frozenset[str]]


def _facts(revision: str) -> Json:
    facts: dict[str, Json] = shared_json(FACTS, "what the tables of methods say")["revisions"]
    if revision not in facts:
        missing.skip_untested(f"facts of {revision} in ../shared", "what the tables of methods say")
    return facts[revision]


def _methods(revision: str) -> list[Json]:
    methods: list[Json] = _facts(revision)["methods"]
    return methods


def _tables(revision: str) -> dict[str, dict[str, Any]]:
    methods = load(revision).methods
    return {
        "jsonrpc-request": dict(methods.REQUESTS),
        "jsonrpc-notification": dict(methods.NOTIFICATIONS),
        "mrtr-input-request": dict(methods.INPUT_REQUESTS),
    }


def _spec(revision: str, fact: Json) -> Any:
    return _tables(revision)[fact["envelope"]][fact["method"]]


def _senders(fact: Json) -> set[str]:
    return {"client", "server"} if fact["sender"] == "both" else {fact["sender"]}


@pytest.mark.parametrize("revision", REVISIONS)
def test_each_method_is_in_the_table_of_its_kind_and_no_other(revision: str) -> None:
    for envelope, table in _tables(revision).items():
        expected = {fact["method"] for fact in _methods(revision) if fact["envelope"] == envelope}
        assert table.keys() == expected, envelope
        assert {method: spec.method for method, spec in table.items()} == {m: m for m in table}


@pytest.mark.shows("S0-02", "S0-12", "S1-22", "S1-23", "S1-24")
def test_senders_params_and_results() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = load(revision).models
            for fact in _methods(revision):
                spec = _spec(revision, fact)
                params = fact["params_type"] or fact["message_type"] + "Params"
                assert spec.senders == _senders(fact), fact["method"]
                assert spec.params is getattr(models, params), fact["method"]
                assert spec.params_required == fact["params_required"], fact["method"]
                if fact["kind"] == "request":
                    results = [getattr(models, name) for name in fact["result_types"]]
                    assert list(spec.results) == results, fact["method"]


def test_since_removed_and_deprecated() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            for fact in _methods(revision):
                spec = _spec(revision, fact)
                assert (spec.since, spec.removed) == (fact["since"], fact["removed_in"]), fact[
                    "method"
                ]
                assert spec.deprecated == fact["deprecated_in"], fact["method"]


def test_traits() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            for fact in _methods(revision):
                traits = {
                    "cancellable": fact["cancellable"],
                    "paginated": fact["paginated"],
                    "cacheable": fact["cacheable"],
                    "task_augmentable": fact["supports_task_augmentation"],
                    "long_lived": fact["long_lived"],
                    "may_require_input": fact["mrtr"]["may_return_input_required"],
                }
                expected = {trait for trait, has in traits.items() if has}
                assert _spec(revision, fact).traits == expected, fact["method"]


def test_only_the_handshake_and_ping_may_come_before_the_handshake_is_done() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            for fact in _methods(revision):
                early = fact["allowed_before_initialized"] in (True, None)
                assert (_spec(revision, fact).phase != "ready") == early, fact["method"]


def test_capability_gates() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            for fact in _methods(revision):
                expected = set(_expected_gates(fact))
                assert set(_gates(_spec(revision, fact))) == expected, fact["method"]


def _gates(spec: Any) -> Iterator[Gate]:
    for need in spec.requires:
        conditions = frozenset(map(str, need.when))
        path = ".".join(need.capability.path)
        assert need.source, f"{spec.method}: no page says so"
        yield need.sender, need.capability.role, path, need.level, conditions


def _expected_gates(fact: Json) -> Iterator[Gate]:
    for sender in _senders(fact):
        receiver = "server" if sender == "client" else "client"
        for need in fact["requires"]:
            named: str = need["party"]
            party = {"self": sender, "peer": receiver}.get(named, named)
            declarer = sender if need["declared_by"] == "sender" else receiver
            if party == declarer:
                when = CONDITIONS[need.get("when")]
                yield sender, party, need["capability"], need["level"], when
        if fact["task"]:
            level = TASK_LEVELS[fact["method"]]
            yield sender, fact["task"]["party"], fact["task"]["capability"], level, AUGMENTED


def test_error_codes_and_names() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            methods = load(revision).methods
            codes = {fact["code"]: fact for fact in _facts(revision)["error_codes"]}
            assert methods.ERRORS.keys() == codes.keys()
            for code, spec in methods.ERRORS.items():
                assert spec.code == code
                assert getattr(methods, spec.name) is spec
                if codes[code]["const"]:
                    assert spec.name == codes[code]["const"]


def test_meta_keys() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            methods = load(revision).methods
            defined: Json = methods.__dict__
            found = {value for name, value in defined.items() if name.startswith("META_")}
            assert found == {fact["key"] for fact in _facts(revision)["meta_keys"]}


@pytest.mark.shows("S0-21", "S0-22", "S1-16", "S1-17")
def test_capabilities_of_both_roles() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            capabilities = load(revision).capabilities
            for role, facts in _facts(revision)["capabilities"].items():
                declared = {
                    ".".join(found.path): found for found in capabilities.CAPABILITIES[role]
                }
                assert declared.keys() == {fact["path"] for fact in facts}, role
                for fact in facts:
                    found = declared[fact["path"]]
                    assert (found.role, found.flag) == (role, fact["form"] == "flag"), fact["path"]
                    assert found.implied == (fact["path"] == "elicitation.form"), fact["path"]


def test_era_and_batching() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            facts, table = _facts(revision), load(revision).methods.TABLE
            assert table.revision == revision == load(revision).REVISION
            assert table.rules.batching == bool(facts["jsonrpc"]["batching"])
            # Only one revision has streams that close and are resumed (its changelog, "Minor
            # changes", item 6).
            assert table.rules.polling == (revision == "2025-11-25")
            assert table.rules.unnamed_over_http == (revision == "2025-03-26")
            # The patches allow errors without an id everywhere: an unreadable id has no echo.
            assert table.rules.error_id_optional


def test_everything_the_modules_define_is_exported_in_order() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            package = load(revision)
            assert {*package.models.__all__} <= {*dir(package.models)}
            parts = {
                import_module(getattr(package.models, n).__module__) for n in package.models.__all__
            }
            for module in (package.models, package.methods, package.capabilities, *parts):
                names: list[str] = module.__all__
                assert names == sorted(set(names))
                assert not [name for name in names if not hasattr(module, name)]
                defined: Json = module.__dict__
                public = {
                    name
                    for name, value in defined.items()
                    if (name.isupper() and name not in ("SUPPLIED", "TYPE_CHECKING"))
                    or getattr(value, "__module__", None) == module.__name__
                }
                assert {name for name in public if not name.startswith("_")} <= set(names)


def test_message_types_of_the_facts_exist() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            known = oracle.subjects(revision).keys()
            assert {fact["message_type"] for fact in _methods(revision)} <= known


@pytest.mark.parametrize("revision", REVISIONS)
def test_stubs_cover_every_method_of_the_tables(revision: str) -> None:
    package = load(revision)
    specs = {**package.methods.REQUESTS, **package.methods.INPUT_REQUESTS}
    questions = getattr(package.Client, "INPUT_REQUESTS", {})
    client: Json = {**package.Client.REQUESTS, **questions}
    answered = {"client": client, "server": package.Server.REQUESTS}
    heard = {"client": package.Client.NOTIFICATIONS, "server": package.Server.NOTIFICATIONS}
    for receiver, sender in (("client", "server"), ("server", "client")):
        requests = {method for method, spec in specs.items() if sender in spec.senders}
        assert answered[receiver].keys() == requests - {"initialize"}
        notes = package.methods.NOTIFICATIONS.items()
        assert heard[receiver].keys() == {
            method for method, spec in notes if sender in spec.senders
        }


# Visible members beside the stubs of methods; everything else is behind `__mcp_runtime__`.
_OF_BOTH_SIDES = {"ROLE", "TABLE", "notify", "request", "request_once", "revision"}
_HANDLING = {
    "around",
    "middleware",
    "DECLARES",
    "EXTENSION",
    "INPUT_REQUESTS",
    "NOTIFICATIONS",
    "REQUESTS",
    "ROLE",
    "SENDS",
    "TABLE",
}
PUBLIC: dict[str, set[str]] = {
    "Client": _OF_BOTH_SIDES
    | _HANDLING
    | {"cache", "capabilities", "info", "instructions", "negotiated"}
    | {"server_capabilities", "server_info"},
    "Server": _HANDLING
    | {"SESSION", "capabilities", "info", "instructions", "lifespan", "sessions", "REVISIONS"}
    | {"prompts_list_changed", "resource_updated", "resources_list_changed", "tools_list_changed"},
    "Session": _OF_BOTH_SIDES
    | {
        "client_capabilities",
        "client_info",
        "become_task",
        "close_stream",
        "inputs",
        "log",
        "once",
        "principal",
    }
    | {"from_thread", "http_request", "progress", "request_id", "require_scopes", "state"},
}
IN_RESULTS: dict[str, set[str]] = {
    "Client": {"answer"},
    "Server": set(),
    "Session": {"input_required"},
}
# A revision with tasks in its core has them in its own client.
OF_FACTS = {"__mcp_entry_needs__": "missing_capabilities", "__mcp_parts__": "send_part"}
"""What rare facts of a revision add to its classes."""
OF_TASKS = {"listen_to_tasks", "start_task", "task"}
TOOLKIT = {"disable", "enable", "max_threads", "mount", "page_size", "tool_schemas"} | {
    f"{verb}_{kind}" for verb in ("add", "remove") for kind in ("tool", "prompt", "resource")
}


def _names_of(cls: type[Any]) -> set[str]:
    """Return all names of a class except special ones."""
    return {name for name in dir(cls) if not name.startswith("__")} - {"_is_protocol"}


@pytest.mark.parametrize("revision", REVISIONS)
def test_users_find_nothing_of_the_runtime_in_the_classes_they_use(revision: str) -> None:
    pkg = load(revision)
    table = pkg.methods.TABLE
    asks_in_results = bool(table.input_requests)
    methods = [
        f"`{name}`" for name in (*table.requests, *table.notifications, *table.input_requests)
    ]
    for side, usual in PUBLIC.items():
        cls: type[Any] = getattr(pkg, side)
        expected = usual | (IN_RESULTS[side] if asks_in_results else set[str]())
        expected |= OF_TASKS if issubclass(cls, mcp_revisions.TaskCalls) else set[str]()
        expected |= {name for key, name in OF_FACTS.items() if hasattr(cls, key)}
        # The docstring of a stub names its method in the first paragraph.
        first = {name: (getattr(cls, name).__doc__ or "").split("\n\n")[0] for name in vars(cls)}
        stubs = {name for name, text in first.items() if any(method in text for method in methods)}
        assert stubs.isdisjoint(expected), side
        assert _names_of(cls) - stubs == expected, side


def test_marked_functions_share_a_class_with_few_other_names() -> None:
    handlers = {name for name in dir(load(REVISIONS[-1]).Server) if name.startswith("on_")}
    assert _names_of(mcp_revisions.Toolkit) - handlers == TOOLKIT
    assert _names_of(mcp_revisions.CheckedResults) == {"request"}


def test_a_stub_is_called_otherwise_only_if_its_class_has_the_name_already() -> None:
    named = {*PUBLIC["Client"], *PUBLIC["Session"], *IN_RESULTS["Client"], *IN_RESULTS["Session"]}
    for name in named:
        if name.islower():
            stem = names.stem(f"{names.pascal(name)}Request")
            assert names.stub("", stem) == f"{name}_"
    for side in PUBLIC:
        cls = getattr(load(REVISIONS[0]), side)
        assert not any(name.endswith("_") for name in _names_of(cls)), side
