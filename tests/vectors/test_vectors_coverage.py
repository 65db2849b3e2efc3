"""Vectors show every fact of the schema, and each wrong one is wrong for its named reason."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical
from mcp_protogen.instep.vectors.vector import Subject, Vector
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from support import missing, tables
from support.revisions import REVISIONS
from support.vectors.tracing import Document, Fact, Json
from support.vectors.vector_sets import SETS, document, schemas_of, vectors

# The keyword of an arm itself: a value that fits no arm violates it in every arm at once.
OF_AN_ARM = re.compile(r".*/(anyOf|oneOf)/\d+/[^/]+")

CANNOT_BE_VIOLATED: dict[str, dict[str, str]] = {
    "2026-07-28": {"/$defs/JSONValue": "every JSON value is one"}
}
"""Definitions without wrong values, by revision, with the reason."""


def many(name: str, number: int) -> int:
    """How many there are at least: of an extension not as many as of a revision."""
    return number // 20 if "+" in name else number


def claim(vector: Vector) -> Fact:
    if vector.code == "required":
        return ("missing", vector.rule, jsonpointer.split(vector.pointer)[-1])
    return ("violated", vector.rule)


def places(vector: Vector) -> set[str]:
    """Return where the fault may be reported: an unknown tag counts for the object around it."""
    parent = vector.pointer.rpartition("/")[0]
    return {vector.pointer, parent} if vector.code == "union" else {vector.pointer}


def test_every_definition_member_arm_constant_and_bound_is_shown() -> None:
    for revision in SETS:
        with tables.case(revision):
            schema = document(revision)
            shown = {
                fact
                for vector in vectors(revision).vectors
                if vector.valid and vector.subject.type
                for fact in schema.facts_of(f"/$defs/{vector.subject.type}", vector.value)
            }
            assert len(schema.right) > many(revision, 500)
            assert schema.right - shown == set()


def test_every_keyword_is_violated_by_a_vector_that_names_it() -> None:
    for revision in SETS:
        with tables.case(revision):
            schema = document(revision)
            violated = {
                fact
                for vector in vectors(revision).vectors
                if not vector.valid and vector.subject.type
                for fact in violations_named(schema, vector)
            }
            impossible = CANNOT_BE_VIOLATED.get(revision, {})
            missing = {
                fact
                for fact in schema.wrong - violated
                if not any(fact[1].startswith(f"{definition}/") for definition in impossible)
            }
            assert len(schema.wrong) > many(revision, 400)
            assert missing == set()


def test_a_value_of_another_definition_is_tried_with_a_fault_inside() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            schema = document(revision)
            tried = {
                (vector.subject.type, vector.rule)
                for vector in vectors(revision).vectors
                if not vector.valid and vector.code == "required"
            }
            used = {(name, f"{use}/required") for name in schema.names for use in schema.uses(name)}
            assert len(used) >= 10
            assert used - tried == set()


def violations_named(schema: Document, vector: Vector) -> Iterator[Fact]:
    """What a vector names, what says the same beside it, and keywords of the arms of its union."""
    yield claim(vector)
    whole = {"$ref": f"#/$defs/{vector.subject.type}"}
    for fact, place in schema.violations(whole, vector.value):
        same_keyword = "/allOf/" in fact[1] and place == vector.pointer
        if same_keyword or (vector.rule and OF_AN_ARM.fullmatch(fact[1])):
            yield fact


def test_an_invalid_vector_violates_the_keyword_it_names_at_the_place_it_names() -> None:
    for revision in SETS:
        with tables.case(revision):
            schema, of = document(revision), schemas_of(revision)
            elsewhere = [
                vector.id
                for vector in vectors(revision).vectors
                if not vector.valid and vector.rule and not is_violated_there(schema, of, vector)
            ]
            assert elsewhere == []


def is_violated_there(schema: Document, of: dict[Subject, Json], vector: Vector) -> bool:
    found = schema.violations(of[vector.subject], vector.value)
    return any(fact == claim(vector) and place in places(vector) for fact, place in found)


def test_an_invalid_vector_is_a_valid_one_but_for_the_place_it_names() -> None:
    """Mending that one place makes it right: nothing else is wrong with it."""
    for revision in SETS:
        with tables.case(revision):
            good: defaultdict[Subject, list[Any]] = defaultdict(list)
            for vector in vectors(revision).vectors:
                if vector.valid:
                    good[vector.subject].append(vector.value)
            twins = {subject: Twins(values) for subject, values in good.items()}
            alone = [
                vector.id
                for vector in vectors(revision).vectors
                if not vector.valid and not twins[vector.subject].has(vector.value, vector.pointer)
            ]
            assert alone == []


class Twins:
    """Valid values of a subject, found by their content except one place."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        self._known: dict[str, set[bytes]] = {}

    def has(self, value: Any, pointer: str) -> bool:
        if pointer not in self._known:
            self._known[pointer] = {canonical(without(good, pointer)) for good in self._values}
        return canonical(without(value, pointer)) in self._known[pointer]


def without(value: Any, pointer: str) -> Any:
    """A value with nothing at a place; also where nothing was."""
    if not pointer:
        return None
    first, _, rest = pointer[1:].partition("/")
    token: Any = jsonpointer.split(f"/{first}")[0]
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        index = int(token) if token.isdigit() else len(items)
        if index >= len(items):
            return items
        inner = [without(items[index], f"/{rest}")] if rest else []
        return [*items[:index], *inner, *items[index + 1 :]]
    if not isinstance(value, dict) or token not in value:
        return value  # pyright: ignore[reportUnknownVariableType]
    members: Json = value  # pyright: ignore[reportUnknownVariableType]
    others = {name: item for name, item in members.items() if name != token}
    return {**others, token: without(members[token], f"/{rest}")} if rest else others


def test_jsonschema_agrees_with_every_verdict() -> None:
    for revision in SETS:
        with tables.case(revision):
            schema, of = document(revision).schema, schemas_of(revision)
            from jsonschema import Draft202012Validator

            known: dict[Subject, Any] = {}
            for vector in vectors(revision).vectors:
                subject = vector.subject
                if subject not in known:
                    known[subject] = Draft202012Validator({**schema, **of[subject]})
                assert known[subject].is_valid(vector.value) == vector.valid, vector.id


PATCHED = {
    "metadata of all params": ".*/properties/params/properties/_meta/type|ProgressToken/type",
    "errors without an id": "JSONRPC(Error|Message|BatchResponse).*",
    "sub-schemas of tools": "Tool/properties/(input|output)Schema/.*",
    "fractions in answers": "ElicitResult/properties/content/.*",
    "what a result that asks has": "(InputRequired|CallTool|GetPrompt|ReadResource)Result.*",
    "null and fractions in JSON": "JSONValue/.*",
}
"""Where the verdict is not that of the published file, as docs/vectors.md lists it."""


def test_patches_turn_only_the_verdicts_that_the_page_lists() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            published = Document(sources.load(revision, GenerationOptions((revision,))).schema)
            turned = {
                vector.rule.removeprefix("/$defs/") or vector.subject.type
                for vector in vectors(revision).vectors
                if vector.subject.type
                and published.accepts(f"/$defs/{vector.subject.type}", vector.value) != vector.valid
            }
            assert turned
            assert [rule for rule in turned if not any(fits(rule))] == []


TURNED: dict[str, dict[str, tuple[str, int]]] = {
    "tasks": {
        "params of requests have the metadata that every request carries": (
            "Request(Params|MetaObject)/(required|type)",
            15,
        ),
        "a filter with ids of tasks has the members of every filter, with their types": (
            "SubscriptionFilter/properties/.*",
            30,
        ),
        "answers under keys that nothing asked for are ignored": ("UpdateTaskRequest.*", 3),
        "a peer may declare settings that are not known yet": ("TasksExtensionCapability", 1),
    },
    "apps": {"objects may have members that are not known yet": ("McpUi[A-Za-z]+", 9)},
    "server-card": {},
}
"""The reasons why verdicts differ from a published extension, as docs/vectors.md lists them."""


def test_vectors_of_extensions_differ_from_the_published_file_where_the_page_says_so() -> None:
    from jsonschema import Draft202012Validator

    folder = missing.reference("published/extensions", "that the verdicts are those of the files")
    for name in SETS:
        extension = name.partition("+")[2]
        path = folder / f"{extension}.schema.json"
        if not extension or not path.exists():
            continue
        with tables.case(name):
            schema = json.loads(path.read_bytes())
            turned: Counter[str] = Counter()
            for vector in vectors(name).vectors:
                kind = vector.subject.type
                judge: Any = Draft202012Validator({**schema, "$ref": f"#/$defs/{kind}"})
                if kind and judge.is_valid(vector.value) != vector.valid:
                    turned[vector.rule.removeprefix("/$defs/") or kind] += 1
            for reason, (pattern, number) in TURNED[extension].items():
                rules = [rule for rule in turned if re.fullmatch(pattern, rule)]
                assert sum(turned.pop(rule) for rule in rules) == number, reason
            assert turned == {}


def fits(rule: str) -> Iterator[bool]:
    return (re.fullmatch(pattern, rule) is not None for pattern in PATCHED.values())


def test_every_message_is_there_in_the_direction_in_which_it_travels() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            ir = derive_revision(sources.load(revision, GenerationOptions((revision,)))).ir
            wanted: set[tuple[str, str, str]] = set()
            for method in ir.methods:
                for sender in method.senders if method.kind != "embedded" else ():
                    wanted.add((method.method, method.kind, sender))
                    if method.kind == "request":
                        answering = "server" if sender == "client" else "client"
                        wanted.add((method.method, "result", answering))
            minimal = {
                (v.subject.method, v.subject.kind, v.subject.sender)
                for v in vectors(revision).vectors
                if v.valid and v.code == "minimal" and v.subject.method
            }
            assert minimal == wanted


def test_messages_have_faults_of_their_envelope() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            ids = {vector.id for vector in vectors(revision).vectors}
            for fault in (
                "jsonrpc/missing",
                "jsonrpc/const",
                "id/missing",
                "id/null",
                "id/type-boolean",
                "id/type-number",
                "method/const",
                "params/null",
            ):
                assert f"tools/list:request:client/invalid/{fault}" in ids


def test_ids_are_unique_and_values_of_a_subject_too() -> None:
    for revision in SETS:
        with tables.case(revision):
            found = vectors(revision).vectors
            ids = Counter(vector.id for vector in found)
            values = Counter((vector.subject, canonical(vector.value)) for vector in found)
            assert [id for id, count in ids.items() if count > 1] == []
            assert [pair for pair, count in values.items() if count > 1] == []
