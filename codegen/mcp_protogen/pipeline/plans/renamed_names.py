"""The check of the renamed types and methods of a step against its two revisions."""

from collections.abc import Iterator

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.problems import Problem, did_you_mean
from mcp_protogen.pipeline.inputs.translations import Translation
from mcp_protogen.pipeline.ir import RevisionIR


def find_wrong_names(older: RevisionIR, newer: RevisionIR, step: Translation) -> Iterator[Problem]:
    """Yield a problem for each name that its revision does not have."""
    names = ((old, end) for old, new in step.became.items() for end in ((older, old), (newer, new)))
    gone = ((old, (older, old)) for old in step.removed)
    for old, (revision, name) in (*names, *gone):
        known, noun = _names_like(revision, name)
        if name not in known:
            message, hint = f"{revision.id} has no {noun} {name}", did_you_mean(name, known)
            pointer = jsonpointer.join("became", old)
            yield Problem("bad-rule", message, step.place, pointer, hint)


def find_open_names(step: Translation) -> Iterator[Problem]:
    """Yield a problem for each name that may be renamed or removed, and is not decided."""
    for old in step.open_names:
        message = f"{step.newer} has no {old}: it was renamed or removed"
        hint = "replace the choices by one of them"
        pointer = jsonpointer.join("became", old)
        yield Problem("undecided-difference", message, step.place, pointer, hint)


def _names_like(revision: RevisionIR, name: str) -> tuple[set[str], str]:
    """Return all types, or all methods, and their noun."""
    if name[:1].isupper():
        return {str(type_.name) for type_ in revision.types}, "type"
    return {method.method for method in revision.methods}, "method"
