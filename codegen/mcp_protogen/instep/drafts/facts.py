"""The facts of a revision, as far as they follow from its schema.

The schema takes precedence over inherited facts, and the revision's own file over the schema. A
fact that is new, or that no schema shows in full, has `TODO` as its source: the user must read a
page.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.drafts import method_facts as methods
from mcp_protogen.instep.drafts import types
from mcp_protogen.instep.drafts.method_facts import SchemaFacts

Json = dict[str, Any]


def adapt(stated: Json, shown: SchemaFacts) -> Json:
    """Return merged facts, changed where the schema shows something else."""

    def facts_of(section: str) -> Json:
        found: Json = stated.get(section, {})
        return found

    capabilities = methods.capabilities(facts_of("capabilities"), shown)
    errors = methods.errors(facts_of("errors"), shown)
    sections: Json = {
        "lifecycle": methods.lifecycle(facts_of("lifecycle"), shown),
        "rules": methods.rules(facts_of("rules"), shown),
        "methods": methods.methods(facts_of("methods"), capabilities, errors, shown),
        "capabilities": capabilities,
        "errors": errors,
        "meta_keys": types.meta_keys(facts_of("meta_keys"), shown),
        "types": types.types(facts_of("types"), shown),
        "content_blocks": types.content_blocks(facts_of("content_blocks"), shown),
        "unions": types.unions(facts_of("unions"), shown),
        "enums": types.enums(facts_of("enums"), shown),
        "open_strings": types.open_strings(facts_of("open_strings"), shown),
        "places": types.places(facts_of("places"), shown),
        "leniency": types.leniency(facts_of("leniency"), shown),
        "producer": types.producer(facts_of("producer"), shown),
    }
    done = stated | {name: found for name, found in sections.items() if found or name in stated}
    if not done.get("content_blocks", True):
        del done["content_blocks"]
    return done


def step(before: Json, after: Json, section: str = "") -> Json:
    """Return the merge patch from one document of facts to another; a fact is restated whole."""
    changed: Json = {}
    for name, value in after.items():
        was = before.get(name)
        if value == was:
            continue
        if not is_object(value) or not is_object(was):
            changed[name] = value
        elif _is_fact(value, section):
            changed[name] = value | dict.fromkeys(was.keys() - value.keys())
        else:
            changed[name] = step(was, value, section or name)
    return changed | dict.fromkeys(name for name in before if name not in after)


def fill_in(own: Json, additions: Json, section: str = "") -> Json:
    """Return a file of facts with the missing additions."""
    done = dict(own)
    for name, value in additions.items():
        said = own.get(name)
        if name not in own:
            done[name] = value
        elif is_object(said) and is_object(value) and not _is_fact(said, section):
            done[name] = fill_in(said, value, section or name)
    return done


def _is_fact(value: Json, section: str) -> bool:
    """Return whether an object is stated as a whole, like every object with a source.

    Methods are stated by member.
    """
    return "source" in value and (section != "methods" or "level" in value)


def with_removed(files: Mapping[str, Json], gone: Iterable[str], revision: str) -> dict[str, Json]:
    """Return the files of facts, oldest first, with the removal of methods that are gone.

    It is noted in the file that states the method in full, unless it is there already.
    """
    done = dict(files)
    for method in gone:
        stating = [
            path
            for path, file in files.items()
            if "message" in (file.get("methods", {}).get(method) or {})
        ]
        for path in stating[-1:]:
            fact = done[path]["methods"][method]
            if "removed" not in fact:
                source = {"source": fact["source"]}
                dated = {**{k: v for k, v in fact.items() if k != "source"}, "removed": revision}
                methods = done[path]["methods"] | {method: dated | source}
                done[path] = {**done[path], "methods": methods}
    return done
