"""The translation tables between two versions of an extension, by the rules of the later one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mcp_protogen.base.problems import Problem, ProblemError, raise_errors, raising
from mcp_protogen.pipeline.extension_ir import ExtensionIR
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.translations import Translation
from mcp_protogen.pipeline.ir import MethodIR, RevisionIR
from mcp_protogen.pipeline.plans.tables import PairTables, pair_tables


@dataclass(frozen=True, slots=True)
class VersionTables:
    """The tables of one step from a version to the one that inherits from it, and back."""

    older: ExtensionIR
    newer: ExtensionIR
    tables: PairTables


def version_tables(
    sources: Iterable[ExtensionSource], extensions: Iterable[ExtensionIR]
) -> tuple[VersionTables, ...]:
    """Return the tables of each version that has rules, and whose earlier version is there.

    Raise `ProblemError` for differences that no rule decides, and for rules without effect.
    """
    versions = {extension.name: extension for extension in extensions if extension.version}
    found: list[VersionTables] = []
    problems: list[Problem] = []
    for source in sources:
        step, newer = source.rules, versions.get(source.name)
        older = versions.get(step.older) if step else None
        if step is None or newer is None or older is None:
            continue
        try:
            _refuse_untranslated((older, newer), step)
            tables = pair_tables(_as_revision(older), _as_revision(newer), step, step.place)
            found.append(VersionTables(older, newer, tables))
        except ProblemError as error:
            problems += error.problems
    raise_errors(problems)
    return tuple(found)


def _as_revision(extension: ExtensionIR) -> RevisionIR:
    """Return the types and methods of a version, with their names on the wire."""
    suffix = extension.version.suffix if extension.version else ""
    methods = (
        replace(method, method=method.method.removesuffix(suffix))
        for method in extension.ir.methods
    )
    types = (*extension.core.types, *extension.ir.types)
    return replace(extension.ir, id=extension.name, types=types, methods=tuple(methods))


@raising
def _refuse_untranslated(ends: Iterable[ExtensionIR], step: Translation) -> Iterator[Problem]:
    """Raise `ProblemError` for what is not translated: anything but plain messages of clients."""
    hint = "remove the rules: without them, sides have to agree on one of the versions"
    if step.errors:
        message = "the errors of versions of an extension are not translated"
        place, _, pointer = step.errors[0].place.partition("#")
        yield Problem("bad-rule", message, place, pointer, "remove the entry")
    for extension in ends:
        methods = _as_revision(extension).methods
        named = [method.method for method in methods if not _is_plain(method)]
        named += [claim.method for claim in extension.claims]
        named += [members.method for members in extension.members]
        for name in dict.fromkeys(named):
            message = f"{name} of {extension.name} is not translated: only plain messages of"
            yield Problem("bad-rule", f"{message} clients are", step.place, "/rules", hint)


def _is_plain(method: MethodIR) -> bool:
    """Return whether a client sends it, and has at most one kind of result, without a stream."""
    sent = method.senders == ("client",) and len(method.results) <= 1
    return sent and method.stream is None and not method.principal
