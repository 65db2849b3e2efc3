"""Facts about methods, capabilities and error codes, as far as a schema shows them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_protogen.base import names
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import Era
from mcp_protogen.pipeline.derive.crosscheck import variant_choices
from mcp_protogen.pipeline.derive.methods import derived_traits, find_traits, stated_traits
from mcp_protogen.pipeline.derive.skeleton import DerivedMethod, Skeleton
from mcp_protogen.pipeline.inputs.facts import era_of
from mcp_protogen.pipeline.inputs.todo import CHOICES, TODO
from mcp_protogen.pipeline.ir import OTHER, ROLES, Role
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]

# Traits that the specification states in words alone.
_NOT_IN_SCHEMAS = frozenset({"long_lived"})
_NOTIFIED = "notifications/"


@dataclass(frozen=True)
class SchemaFacts:
    """A normalised schema, and its snapshot.

    `next_cursor` is the member of pages for cursors, by the facts. `names` are those of methods
    that were renamed, by their first ones; some may be undecided.
    """

    revision: str
    skeleton: Skeleton
    snapshot: Json
    next_cursor: str = "nextCursor"
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    has_open_names: bool = False

    @property
    def definitions(self) -> Json:
        """The normalised definitions."""
        return self.skeleton.definitions

    @cached_property
    def own_types(self) -> Sequence[str]:
        """The types that the snapshot itself defines, without aliases."""
        named = self.snapshot["$defs"].items()
        return sorted(
            name
            for name, schema in named
            if is_object(schema) and "$ref" not in schema and name in self.definitions
        )

    @cached_property
    def deprecated_names(self) -> Sequence[str]:
        """The types and members that the snapshot marks as deprecated."""
        found: list[str] = []
        for name in self.own_types:
            schema: Json = self.snapshot["$defs"][name]
            places = {name: schema} | {
                f"{name}.{key}": member for key, member in _members(schema).items()
            }
            found += (
                path
                for path, place in places.items()
                if is_object(place) and place.get("deprecated") is True
            )
        return found

    @property
    def methods(self) -> Mapping[str, DerivedMethod]:
        """The methods, by wire name."""
        return self.skeleton.methods

    @property
    def era(self) -> Era | None:
        """The way sessions open; None if the methods do not show it."""
        return era_of({"$defs": self.definitions})

    @property
    def server_requests(self) -> bool:
        """Return whether servers send requests."""
        found = self.methods.values()
        return any(method.kind == "request" and "server" in method.senders for method in found)

    def has_type(self, name: object) -> bool:
        """Return whether there is a type of that name."""
        return name in self.definitions


def lifecycle(stated: Json, shown: SchemaFacts) -> Json:
    """Return the way sessions open, if the methods show it."""
    return stated if shown.era in (None, stated.get("era")) else {"era": shown.era, "source": TODO}


def rules(stated: Json, shown: SchemaFacts) -> Json:
    """Return the switches of the message layer that types show."""
    batches = shown.has_type("JSONRPCBatchRequest")
    seen: Json = {
        "batching": {"receive": batches, "send": batches},
        "server_requests": {"value": shown.server_requests},
    }
    tag = stated.get("result_type", {}).get("member")
    members = _members(shown.definitions.get("Result", {}))
    kept = {n: rule for n, rule in stated.items() if n != "result_type" or tag in members}
    return kept | {
        name: {**values, "source": TODO}
        for name, values in seen.items()
        if values.items() - stated.get(name, {}).items()
    }


def capabilities(stated: Json, shown: SchemaFacts) -> Json:
    """Return every capability path, with its facts."""
    return {role: _capabilities(stated.get(role, {}), role, shown) for role in ROLES}


def _capabilities(stated: Json, role: Role, shown: SchemaFacts) -> Json:
    done: Json = {}
    for path, flag in shown.skeleton.capabilities[role].items():
        dotted = ".".join(path)
        kind = "flag" if flag else "presence"
        fact = stated.get(dotted, {})
        done[dotted] = fact if fact.get("kind") == kind else {"kind": kind, "source": TODO}
    return done


def methods(stated: Json, declared: Json, errors: Json, shown: SchemaFacts) -> Json:
    """Return every method, with the required capabilities and codes that still exist.

    `declared` are the facts about capabilities, and `errors` those about error codes.
    """
    return {
        name: _method(method, stated.get(name), declared, errors, shown)
        for name, method in sorted(shown.methods.items())
    }


def _method(
    method: DerivedMethod, fact: Json | None, declared: Json, errors: Json, shown: SchemaFacts
) -> Json:
    known = fact or {}
    plain = "NotificationParams" if method.kind == "notification" else "RequestParams"
    senders = known.get("senders", ())
    gates = known.get("requires", {}) if fact else _gates(method, declared)
    done: Json = {
        "message": method.message,
        "kind": method.kind,
        "senders": senders if sorted(senders) == sorted(method.senders) else [*method.senders],
        "params": method.params or known.get("params", plain),
        "params_required": method.params_required,
        "results": _results(method, known, shown),
        "requires": {
            gate: demand for gate, demand in gates.items() if _is_declared(gate, declared)
        },
        "phase": _phase(known, shown),
        "traits": _traits(method, known, shown),
        "errors": {} if method.kind == "embedded" else _errors(known.get("errors", {}), errors),
        "since": known.get("since", shown.revision),
    }
    done |= {"deprecated": _deprecation(method, known, shown), "source": known.get("source", TODO)}
    if variants := known.get("variants"):
        choices = variant_choices(done, shown.definitions)
        done["variants"] = {call: of for call, of in variants.items() if of in choices}
    empty = {name for name, value in done.items() if value in ([], {}, None)}
    return {name: value for name, value in {**known, **done}.items() if name not in empty}


def _deprecation(method: DerivedMethod, known: Json, shown: SchemaFacts) -> Any:
    marked = method.message in shown.deprecated_names
    return known.get("deprecated", shown.revision if marked else None)


def _results(method: DerivedMethod, known: Json, shown: SchemaFacts) -> list[str]:
    """Return the stated results that still exist, and those that the schema pairs with it."""
    stated = [name for name in known.get("results", ()) if shown.has_type(name)]
    return list(dict.fromkeys((*stated, *method.results)))


def _phase(known: Json, shown: SchemaFacts) -> str:
    phase: str = known.get("phase", "ready")
    return "any" if shown.era == "stateless" else phase


def _traits(method: DerivedMethod, known: Json, shown: SchemaFacts) -> list[str] | Json:
    """Return the traits of a method, or choices if one is uncertain and not decided before."""
    if method.kind != "request":
        return []
    stated = set(stated_traits(known))
    found = {*derived_traits(method, shown.definitions, shown.next_cursor)}
    found |= _NOT_IN_SCHEMAS & stated
    if method.method != "initialize":
        found.add("cancellable")
    perhaps: dict[str, str] = {}
    for trait, owner, lacks in find_traits(method, shown.definitions, shown.next_cursor):
        if lacks and trait not in found:
            perhaps[trait] = f"{owner} shows {trait}, but has no {lacks}"
    decided = not is_object(known.get("traits", {})) and {*method.results} <= {
        *known.get("results", ())
    }
    if decided:
        return sorted(found | (perhaps.keys() & stated))
    choices = [sorted(found), sorted(found | perhaps.keys())]
    return {"difference": "; ".join(perhaps.values()), CHOICES: choices} if perhaps else choices[0]


def _errors(stated: Json, errors: Json) -> Json:
    return {
        code: fact
        for code, fact in stated.items()
        if errors.get(code, {"emit": "never"})["emit"] != "never"
    }


def _is_declared(gate: str, declared: Json) -> bool:
    party, _, path = gate.partition(".")
    roles = ROLES if party in ("sender", "receiver") else (party,)
    return all(path in declared.get(role, {}) for role in roles)


def _gates(method: DerivedMethod, declared: Json) -> Json:
    """Return the likely requirements of a new method: the capability of the same name.

    The receiver of `things/list` declares `things`; the sender of
    `notifications/things/list_changed` declares `things.listChanged`.
    """
    notified = method.method.startswith(_NOTIFIED)
    first, *rest = method.method.removeprefix(_NOTIFIED).split("/")
    roles = method.senders if notified else [OTHER[sender] for sender in method.senders]
    party = roles[0] if len(roles) == 1 else "sender" if notified else "receiver"
    for path in (f"{first}.{_camel(rest)}", first):
        if all(path in declared.get(role, {}) for role in roles):
            return {f"{party}.{path}": {"level": "MUST", "source": TODO}}
    return {}


def _camel(parts: list[str]) -> str:
    text = names.pascal("/".join(parts))
    return text[:1].lower() + text[1:]


def errors(stated: Json, shown: SchemaFacts) -> Json:
    """Return the codes with types in the schema, and the other known ones.

    A client that receives no requests sends no codes.
    """
    senders = "both" if shown.server_requests else "server"
    found = list(find_codes(shown))
    new = {name for code, name, _ in found if code not in stated}
    done: Json = {}
    for code, fact in stated.items():
        answered = shown.server_requests or fact["emit"] != "client"
        if answered and fact["name"] not in new:  # which has another code now
            done[code] = _inherited_error(fact, shown)
    for code, name, data in found:
        of_data = {} if data is None else {"data": data}
        done.setdefault(code, {"name": name, **of_data, "emit": senders, "source": TODO})
    return done


def _inherited_error(fact: Json, shown: SchemaFacts) -> Json:
    if "data" in fact and not shown.has_type(fact["data"]):
        return {"name": fact["name"], "emit": "never", "source": TODO}
    emit = "server" if fact["emit"] == "both" and not shown.server_requests else fact["emit"]
    return {**fact, "emit": emit}


def find_codes(shown: SchemaFacts) -> Iterator[tuple[str, str, str | None]]:
    """Yield the codes that are constants, with their names and the types of their data."""
    for name in shown.own_types:
        members = _members(shown.definitions[name])
        error = members.get("error", {})
        if "$ref" in error:
            members = _members(shown.definitions[definition_name(error["$ref"])])
        code = members.get("code", {}).get("const")
        if name.endswith("Error") and type(code) is int:
            data = members.get("data", {})
            yield str(code), _code_name(name), (
                definition_name(data["$ref"]) if "$ref" in data else None
            )


def _members(schema: Json) -> Json:
    members: Json = schema.get("properties", {})
    return members


def _code_name(type_name: str) -> str:
    return str(names.constant(type_name.removesuffix("Error") or type_name))
