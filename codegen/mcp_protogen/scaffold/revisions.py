"""The revisions of a project, and the features that its code shows."""

from collections.abc import Iterable, Iterator
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs import facts
from mcp_protogen.pipeline.inputs.pins import load_pins, pinned_structure
from mcp_protogen.scaffold.choices import ALL


def default_revisions() -> tuple[str, ...]:
    """Return the default revisions of a project; its code is written for the first one."""
    folder = schema_folder()
    newest = facts.load(folder, facts.revisions_with_facts(folder)[-1]).document
    return tuple(newest["projects"]["revisions"])


def project_revisions(requested: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return the revision to write for, and all revisions, from names and lists with commas.

    The code is written for the first name; "all" stands for the usual one and all others. Raise
    `ProblemError` (`no-revision`, `unknown-revision`).
    """
    names = [name for text in requested for name in _names(text)]
    if not names:
        raise ProblemError(
            Problem("no-revision", "no revision is requested", hint="name one with --revision")
        )
    pins = load_pins()
    unknown = [name for name in names if name not in pins and name != ALL]
    if unknown:
        raise ProblemError(*(_unknown(name, pins) for name in dict.fromkeys(unknown)))
    every = {*pins} if ALL in names else {*names}
    return default_revisions()[0] if names[0] == ALL else names[0], tuple(sorted(every))


def _names(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.split(",")))


def _unknown(name: str, pins: Iterable[str]) -> Problem:
    message = f"no schema is pinned for {name!r:.80}"
    return Problem("unknown-revision", message, hint=did_you_mean(name, pins))


def features(revision: str) -> dict[str, bool]:
    """Return by name whether tools have structured results and tasks, and servers can ask.

    The pinned schema and facts decide, so that a new revision needs no change here.
    """
    schema = pinned_structure(revision)
    stated = facts.facts_for(schema_folder(), revision, schema)
    types: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return {
        "structured": bool(stated.path_of("tool_structured")),
        "tasks": "CreateTaskResult" in types,
        "elicitation": "ElicitRequest" in types,
    }
