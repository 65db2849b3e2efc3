"""Facts about types, as far as a schema shows them: which ones exist, and in which order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.drafts.method_facts import SchemaFacts, find_codes
from mcp_protogen.pipeline.derive import fillings
from mcp_protogen.pipeline.derive.places import ABOUT_TASKS
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.todo import TODO
from mcp_protogen.pipeline.normalise.references import definition_name
from mcp_protogen.runtime.core.spec import CALL_TOOL, LIST_TOOLS

Json = dict[str, Any]

_KINDS = ("request", "notification", "result", "error")

# Rules for senders that later schemas may state, with the keyword for that.
_STATED_BY = {"max_items": "maxItems", "starts_with": "pattern"}


def types(stated: Json, shown: SchemaFacts) -> Json:
    """Return the marks of types and members (open, deprecated) that still apply."""
    done = {
        kind: {path: fact for path, fact in entries.items() if _is_valid(kind, path, shown)}
        for kind, entries in stated.items()
    }
    for kind, paths in {"open": _open(shown), "deprecated": shown.deprecated_names}.items():
        missing = {path: {"source": TODO} for path in paths if path not in done.get(kind, {})}
        if missing:
            done[kind] = {**done.get(kind, {}), **missing}
    return done


def _is_valid(kind: str, path: str, shown: SchemaFacts) -> bool:
    return _is_there(path, shown) and (kind != "open" or _is_extension(path, shown))


def _is_extension(name: str, shown: SchemaFacts) -> bool:
    """Return whether a type may extend `Result`, if it is a result at all."""
    members = shown.definitions.get("Result", {}).get("properties", {}).keys()
    own = shown.definitions[name].get("properties", {}).keys()
    return not name.endswith("Result") or members <= own


def _open(shown: SchemaFacts) -> Iterator[str]:
    """Yield the types that extend `Result` or `MetaObject`, which accept any further members."""
    for name in shown.own_types:
        if name.endswith("MetaObject") or (name.endswith("Result") and _is_extension(name, shown)):
            yield name


def _is_there(path: str, shown: SchemaFacts) -> bool:
    owner, _, member = path.partition(".")
    schema = shown.definitions.get(owner)
    return schema is not None and (not member or member in schema.get("properties", {}))


def content_blocks(stated: Json, shown: SchemaFacts) -> Json:
    """Return the kinds of content that a union of them may have."""
    known = [name for name in stated.get("types", ()) if shown.has_type(name)]
    unions = [arms for arms in (_arms(schema) for schema in shown.definitions.values()) if arms]
    found = {arm for arms in unions if len(set(arms) & set(known)) > 1 for arm in arms}
    new = sorted(arm for arm in found - {*known} if _is_block(shown.definitions.get(arm, {})))
    if not known or (known == stated["types"] and not new):
        return stated if known else {}
    return {"types": sorted([*known, *new]), "source": TODO if new else stated["source"]}


def _is_block(schema: Json) -> bool:
    return "const" in schema.get("properties", {}).get("type", {})


def unions(stated: Json, shown: SchemaFacts) -> Json:
    """Return every union that the schema names; new arms come last until the user orders them."""
    done: Json = {}
    for name in (*stated, *(name for name in shown.own_types if name not in stated)):
        schema = shown.definitions.get(name, {})
        known = stated.get(name, {"arms": []})
        arms = _arms(schema) or [
            arm for arm in known["arms"] if shown.has_type(arm) and "anyOf" in schema
        ]
        if arms:
            new = not {*arms} <= {*known["arms"]}
            done[name] = {"arms": arms, "source": TODO if new else known["source"]}
    return done


def _arms(schema: Json) -> list[str]:
    arms = schema.get("anyOf", [])
    named = [definition_name(arm["$ref"]) for arm in arms if "$ref" in arm]
    return named if len(named) == len(arms) else []


def enums(stated: Json, shown: SchemaFacts) -> Json:
    """Return every closed set of strings, in the order of a known one with the same strings."""
    known = {frozenset(fact["values"]): fact for fact in stated.values()}
    done: Json = {}
    for path, values in _enums(shown):
        fact = stated.get(path) or known.get(frozenset(values))
        if fact is None:
            done[path] = {"values": values, "source": TODO}
        elif {*fact["values"]} == {*values}:
            done[path] = fact
        else:
            kept = [value for value in fact["values"] if value in values]
            new = [value for value in values if value not in kept]
            done[path] = {"values": [*kept, *new], "source": TODO if new else fact["source"]}
    return done


def _enums(shown: SchemaFacts) -> Iterator[tuple[str, list[str]]]:
    for name, schema in shown.definitions.items():
        places = {name: schema} | {
            f"{name}.{member}": inner for member, inner in schema.get("properties", {}).items()
        }
        for path, place in places.items():
            values = place.get("enum", [])
            if len(values) > 1 and all(isinstance(value, str) for value in values):
                yield path, values


def open_strings(stated: Json, shown: SchemaFacts) -> Json:
    """Return the open strings that still exist, also in types that have them now.

    A published schema repeats in every type what the types have in common.
    """
    done = {path: fact for path, fact in stated.items() if _is_there(path, shown)}
    for path, fact in list(done.items()):
        owner, _, member = path.partition(".")
        schema = _member(owner, member, shown)
        alike = (
            name for name in shown.own_types if schema and _member(name, member, shown) == schema
        )
        done |= {f"{name}.{member}": done.get(f"{name}.{member}", fact) for name in alike}
    return done


def _member(owner: str, member: str, shown: SchemaFacts) -> Any:
    return shown.definitions.get(owner, {}).get("properties", {}).get(member)


def places(stated: Json, shown: SchemaFacts) -> Json:
    """Return the places of values, with paths to decide where a type lost the first member."""
    return {place: _place(place, fact, shown) for place, fact in stated.items()}


def _place(place: str, fact: Json, shown: SchemaFacts) -> Json:
    first = re.split(r"[.\[]", fact["path"])[0]
    owners = _owners(place, shown)
    members = [shown.definitions.get(name, {}).get("properties", {}) for name in owners]
    # A name that is not decided yet may tell where a place is, and revisions may lack tasks.
    may_come = not owners and (shown.has_open_names or place == "task_id")
    has = all if place == "task_id" else any
    is_there = (
        first == TODO or may_come or (bool(owners) and has(first in found for found in members))
    )
    return fact if is_there else {"path": TODO, "source": TODO}


def _owners(place: str, shown: SchemaFacts) -> list[str]:
    """Return the types at the beginning of a path."""
    methods = shown.skeleton.methods
    names = (shown.names.get(known_as, known_as) for known_as in (LIST_TOOLS, CALL_TOOL))
    listed, called = map(methods.get, names)
    match place:
        case "cursor":
            return [method.params for method in methods.values() if method.params]
        case "next_cursor":
            return [name for method in methods.values() for name in method.results]
        case "tool_content_variant" | "tool_output_schema":
            return [
                name
                for page in (listed.results[:1] if listed else ())
                for name in _types_of_items(page, shown)
            ]
        case "task_id":
            named = (methods.get(shown.names.get(name, name)) for name in ABOUT_TASKS)
            params = [method.params for method in named if method and method.params]
            return [name for name in params if "properties" in shown.definitions[name]]
        case "requested_outputs":
            return [called.params] if called and called.params else []
        case _:
            return [*called.results[:1]] if called else []


def _types_of_items(page: str, shown: SchemaFacts) -> Iterator[str]:
    for member in shown.definitions[page].get("properties", {}).values():
        if is_object(items := member.get("items")) and "$ref" in items:
            yield definition_name(items["$ref"])


def leniency(stated: Json, shown: SchemaFacts) -> Json:
    """Return the exceptions from the schema that receivers must still make."""
    return {name: fact for name, fact in stated.items() if _is_readable(fact, shown)}


def _is_readable(fact: Json, shown: SchemaFacts) -> bool:
    owner, _, member = fact["where"].partition(".")
    schema = _member(owner, member, shown)
    return schema is not None and fillings.fits(fact["value"], schema, shown.definitions)


def producer(stated: Json, shown: SchemaFacts) -> Json:
    """Return the extra rules for senders that the schema allows but does not state."""
    facts = Facts(shown.revision, {"producer": stated}, shown.revision)
    unkept = {filling.fact for filling in fillings.impossible_fillings(shown.definitions, facts)}
    return {
        name: fact
        for name, fact in stated.items()
        if jsonpointer.join("producer", name) not in unkept and _is_needed(fact, shown)
    }


def _is_needed(fact: Json, shown: SchemaFacts) -> bool:
    owner, _, member = fact["where"].partition(".")
    schema = shown.definitions.get(owner, {})
    if member not in schema.get("properties", {}):
        return False
    if fact["rule"] == "required":
        return member not in schema.get("required", ())
    keyword = _STATED_BY.get(fact["rule"])
    return keyword is None or keyword not in schema["properties"][member]


def meta_keys(stated: Json, shown: SchemaFacts) -> Json:
    """Return the keys of `_meta` that the schema gives a type."""
    done = {key: fact for key, fact in stated.items() if _is_applicable(fact, shown)}
    for key, fact in sorted(_meta_keys(shown).items()):
        done.setdefault(key, fact)
    return done


def _is_applicable(fact: Json, shown: SchemaFacts) -> bool:
    named = (fact["type"].rstrip("[]{}"), *fact["on"], *fact.get("of", ()))
    return all(shown.has_type(name) for name in named if name[:1].isupper())


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of a key of `_meta` in a message."""

    kind: str
    owner: str
    type: str
    required: bool


def _meta_keys(shown: SchemaFacts) -> Json:
    everyone: dict[str, set[str]] = {}
    found: dict[str, list[_Use]] = {}
    for kind, owner, schema in _with_meta(shown):
        everyone.setdefault(kind, set()).add(owner)
        for key, inner in schema.get("properties", {}).items():
            type_ = _type_text(inner)
            if type_ is not None:
                use = _Use(kind, owner, type_, key in schema.get("required", ()))
                found.setdefault(key, []).append(use)
    return {key: _meta_key(uses, everyone) for key, uses in found.items()}


def _type_text(schema: Json) -> str | None:
    """Return a type as facts write it: `Tag`, `string`, `Tag[]`, `string{}`."""
    if "$ref" in schema:
        return definition_name(schema["$ref"])
    kind = schema.get("type")
    for name, keyword, after in (
        ("array", "items", "[]"),
        ("object", "additionalProperties", "{}"),
    ):
        inner = schema.get(keyword)
        if kind == name and is_object(inner) and (text := _type_text(inner)):
            return text + after
    return kind if isinstance(kind, str) else None


def _meta_key(uses: Sequence[_Use], everyone: Mapping[str, set[str]]) -> Json:
    found, owners = {use.kind for use in uses}, {use.owner for use in uses}
    kinds = [kind for kind in _KINDS if kind in found]
    fact: Json = {"on": [*kinds, *sorted(found.difference(_KINDS))]}
    if any(everyone[kind] - owners for kind in found):
        fact["of"] = sorted(owners)
    required = all(use.required for use in uses)
    return fact | {"type": uses[0].type, "required": required, "source": TODO}


def _with_meta(shown: SchemaFacts) -> Iterator[tuple[str, str, Json]]:
    """Yield each kind of message and its type, with the type of its `_meta`.

    The kind of a type within messages is its name.
    """
    messages = list(_messages_with_meta(shown))
    yield from messages
    others = {name: _meta(name, shown) for name in shown.own_types}
    known = [meta for _, _, meta in messages]
    yield from ((name, name, meta) for name, meta in others.items() if meta and meta not in known)


def _messages_with_meta(shown: SchemaFacts) -> Iterator[tuple[str, str, Json]]:
    data = {name for _, _, name in find_codes(shown) if name is not None}
    yield from (("error", name, _meta(name, shown)) for name in sorted(data))
    for method in shown.methods.values():
        if method.kind == "embedded":
            continue
        plain = "NotificationParams" if method.kind == "notification" else "RequestParams"
        yield method.kind, method.message, _meta(method.params or plain, shown)
        yield from (("result", result, _meta(result, shown)) for result in method.results)


def _meta(name: str, shown: SchemaFacts) -> Json:
    schema = shown.definitions.get(name, {}).get("properties", {}).get("_meta", {})
    named = (
        shown.definitions.get(definition_name(schema["$ref"]), {}) if "$ref" in schema else schema
    )
    return named if is_object(named) else {}
