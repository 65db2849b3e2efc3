"""The check of messages against the patched schema of a revision, by method and direction."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs import extensions, patches, sources
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.servers.inspect.revision_facts import method_in, rules_revision

_MOST: Final = 20
"""The most mistakes of one message to report."""
_CHOICES: Final = ("anyOf", "oneOf")
# Schemas have one or the other name. Where they have both, the second is for any answer.
_RESULTS: Final = ("JSONRPCResultResponse", "JSONRPCResponse")
_ERRORS: Final = ("JSONRPCErrorResponse", "JSONRPCError")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A place in a message that does not fit the schema.

    `member` is the place in terms of types: the type of the message and the members below it.
    """

    member: str
    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Protocol:
    """The schema and the facts of one revision, and of the known extensions.

    `claims` are the types of the results that extensions add, by method and `resultType`, and the
    identifiers of these extensions.
    """

    revision: str
    schema: dict[str, Any]
    methods: dict[str, Any]
    claims: dict[tuple[str, str], tuple[str, str]]

    def result_of(self, method: str, result: object) -> str:
        """Return the type of the result of a request; empty for an unknown method."""
        types: list[str] = self.methods.get(method, {}).get("results") or [""]
        kind = str(result.get("resultType")) if is_object(result) else ""
        if (method, kind) in self.claims:
            return self.claims[method, kind][0]
        return types[-1] if kind == "input_required" and len(types) > 1 else types[0]

    def message_of(self, method: str) -> str:
        """Return the type of a request or notification; empty for an unknown method."""
        found: str = self.methods.get(method, {}).get("message", "")
        return found

    def needs(self, method: str) -> dict[str, dict[str, Any]]:
        """Return the capabilities that a method needs, with their role before them."""
        found: dict[str, dict[str, Any]] | None = self.methods.get(method, {}).get("requires")
        return found or {}

    def mistakes(self, name: str, value: Any) -> Iterator[Mistake]:
        """Yield the places where a value does not fit a type, the first of each kind."""
        try:
            errors = sorted(_validator(self.revision, name).iter_errors(value), key=_place)
        except RecursionError:
            yield Mistake(name, "", "is nested too deeply to be read")
            return
        for error in errors[:_MOST]:
            worst = _narrow(error)
            path = list(worst.absolute_path)
            members = [name, *(str(step) for step in path if isinstance(step, str))]
            message = _shorten(worst)
            yield Mistake(".".join(members), jsonpointer.join(*path), message)

    @property
    def envelopes(self) -> tuple[str, str]:
        """The types of answers with a result and with an error."""
        known: dict[str, Any] = self.schema["$defs"]
        result, error = (next(filter(known.__contains__, names)) for names in (_RESULTS, _ERRORS))
        return result, error


@cache
def protocol_of(revision: str) -> Protocol:
    """Return the schema and the facts of a pinned revision."""
    source = sources.load(revision, GenerationOptions((revision,)))
    schema = source.apply_patches()
    methods: dict[str, Any] = dict(source.facts.document["methods"])
    claims: dict[tuple[str, str], tuple[str, str]] = {}
    for name in extension_names():
        one = extensions.load(name, schema_folder())
        if revision not in one.revisions:
            continue
        mended = patches.apply(one.schema, one.patches, one.patches_place)
        schema["$defs"] = {**mended["$defs"], **schema["$defs"]}
        facts = one.facts_of(revision)
        methods = {**facts.methods, **methods}
        for fact in facts.claims.values():
            claims[fact["method"], fact["result_type"]] = fact["type"], one.identifier
    return Protocol(revision, schema, methods, claims)


def list_member(revision: str, method: str) -> str:
    """Return the member with the items of a page, the only list there; `method` is a usual name."""
    known = rules_revision(revision)
    protocol = protocol_of(known)
    page = protocol.schema["$defs"].get(protocol.result_of(method_in(known, method), None), {})
    required, members = page.get("required", ()), page.get("properties", {})
    lists = [name for name in required if members.get(name, {}).get("type") == "array"]
    return lists[0] if len(lists) == 1 else ""


@cache
def _validator(revision: str, name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator({**protocol_of(revision).schema, "$ref": f"#/$defs/{name}"})


def _place(error: Any) -> tuple[str, str]:
    return jsonpointer.join(*error.absolute_path), error.message


def _narrow(error: Any) -> Any:
    """Return the mistake in the most likely alternative."""
    while error.validator in _CHOICES and error.context:
        arms: dict[int, list[Any]] = {}
        for inner in error.context:
            arms.setdefault(inner.schema_path[0], []).append(inner)
        nearest = min(arms.values(), key=lambda found: (_is_other(found), len(found)))
        if len(arms) > 1 and all(map(_is_other, arms.values())):
            return error
        error = min(nearest, key=lambda one: -len(one.absolute_path))
    return error


def _is_other(errors: list[Any]) -> bool:
    """Return whether a constant or the kind of value excludes an alternative."""
    return any(
        error.validator in ("const", "enum") or (error.validator == "type" and not error.path)
        for error in errors
    )


def _shorten(error: Any) -> str:
    """Return the mistake as text, without the wrong value."""
    if error.validator in _CHOICES:
        return "fits none of the alternatives"
    if error.validator == "type":
        return f"is not of type {_join_words(error.validator_value)}"
    if error.validator in ("const", "enum"):
        allowed = error.validator_value
        return f"is not {_join_words(allowed if error.validator == 'enum' else [allowed])}"
    message: str = error.message
    return message if len(message) <= 160 else f"does not fit {error.validator}"


def _join_words(values: Any) -> str:
    return " or ".join(map(str, values)) if is_array(values) else str(values)
