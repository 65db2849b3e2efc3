"""The versions of extensions that a revision tells apart, by facts of both.

What the runtime cannot tell apart is refused: two versions of one extension where the revision has
no rule for them, or where the declaration of a client is not in each request.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.names import Stem, StubName
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.extension_ir import VersionIR
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.pinned_extensions import first_version
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import ROLES, MethodIR, Role
from mcp_protogen.runtime.core.extension_versions import VersionError, VersionRule

Json = dict[str, Any]

_SEMANTIC: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){2}")
_NOT_OF_NAMES: Final = re.compile(r"\W+")


def versions_of(
    extensions: Sequence[ExtensionSource], core: RevisionSource, parts: Collection[str] = ()
) -> Mapping[str, VersionIR]:
    """Return the versions of extensions of a revision, by name; others have only one.

    `parts` are those of the package. Raise `ProblemError` for versions that nothing tells apart.
    """
    by_first = defaultdict[str, list[ExtensionSource]](list)
    for extension in extensions:
        by_first[_first_of(extension)].append(extension)
    stated: Json | None = core.facts.document.get("extension_versions")
    families = {
        first: family
        for first, family in by_first.items()
        if len(family) > 1 or _states(family[0], stated)
    }
    _refuse_strangers(extensions)
    _refuse_run_by_parts(families, parts)
    _refuse_unclear(families, stated, core)
    if stated is None:
        return {}
    return {
        extension.name: _version(
            extension, first, _rule(stated, _absent(extension, family), core.facts.revision)
        )
        for first, family in families.items()
        for extension in family
    }


def add_suffix(method: MethodIR, suffix: str, own: Collection[str]) -> MethodIR:
    """Return a method whose name and stubs have the suffix of a version.

    `own` are the methods of the extension: a notification may be on the stream of one.
    """
    stub, stream = _NOT_OF_NAMES.sub("_", suffix.replace("@", "_v")), method.stream
    if stream is not None and stream.request in own:
        stream = replace(stream, request=f"{stream.request}{suffix}")
    return replace(
        method,
        method=f"{method.method}{suffix}",
        stream=stream,
        stem=Stem(f"{method.stem}{stub}"),
        variants=tuple((StubName(f"{name}{stub}"), of) for name, of in method.variants),
    )


def _states(extension: ExtensionSource, rule: Json | None) -> bool:
    """Return whether a declaration has to have the version of an extension."""
    stated = extension.facts.get("version")
    # Without a rule, a plain declaration still means the first version.
    return stated is not None and (rule is not None or stated["is"] != stated["absent"])


def _first_of(extension: ExtensionSource) -> str:
    """Return the extension of which this is a version: it inherits from that, or is that."""
    inherited = extension.facts.get("inherits")
    return extension.name if inherited is None else first_version(inherited)


def _absent(extension: ExtensionSource, family: Iterable[ExtensionSource]) -> str:
    """Return the version of a declaration of its identifier without one; empty if none says so."""
    for version in family:
        if version.identifier == extension.identifier and "version" in version.facts:
            return str(version.facts["version"]["absent"])
    return ""


def _rule(stated: Json, absent: str, revision: str = "") -> VersionRule:
    error: Json | None = stated.get("error")
    floors: dict[Role, str] = {
        role: stated[role]["floor"] for role in ROLES if "floor" in stated[role]
    }
    return VersionRule(
        members={role: stated[role]["member"] for role in ROLES},
        listed=stated["server"]["list"],
        absent=absent,
        agree=stated["agree"],
        error=VersionError(*(error[name] for name in VersionError._fields)) if error else None,
        floors={role: tuple(floor.split(".")) for role, floor in floors.items()},
        revision=revision,
    )


def _version(extension: ExtensionSource, first: str, rule: VersionRule) -> VersionIR:
    version = extension.facts["version"]["is"] if "version" in extension.facts else rule.absent
    base = rule.base(version)
    suffix = "" if extension.name == first else f"@{base}"
    return VersionIR(version=version, family=first, base=base, suffix=suffix, rule=rule)


@raising
def _refuse_strangers(extensions: Iterable[ExtensionSource]) -> Iterator[Problem]:
    """Raise `ProblemError` for extensions with one identifier that are not versions of one."""
    seen: dict[str, ExtensionSource] = {}
    for extension in extensions:
        earlier = seen.setdefault(extension.identifier, extension)
        if _first_of(earlier) != _first_of(extension):
            message = f"{earlier.name} and {extension.name} are both {extension.identifier}"
            hint = "let the later version inherit from the other: inherits"
            place = extension.facts_place
            yield Problem("facts-disagree", message, place, "/identifier", hint)


@raising
def _refuse_run_by_parts(
    families: Mapping[str, Sequence[ExtensionSource]], parts: Collection[str]
) -> Iterator[Problem]:
    """Raise `ProblemError` for versions of an extension that a part runs: it knows only one."""
    for first, family in families.items():
        if first in parts:
            message = f"the part {first} runs only the first version of {first}"
            hint = f"leave out {family[-1].name}, or the part, and answer its methods yourself"
            place = family[-1].facts_place
            yield Problem("conflicting-options", message, place, "/version", hint)


@raising
def _refuse_unclear(
    families: Mapping[str, Sequence[ExtensionSource]], stated: Json | None, core: RevisionSource
) -> Iterator[Problem]:
    """Raise `ProblemError` for each version that a revision cannot tell apart."""
    revision = core.facts.revision
    for first, family in families.items():
        last = family[-1]
        if stated is None:
            message = f"{revision} does not tell versions of extensions apart, such as {last.name}"
            hint = "take the revision out of its revisions, or generate it without"
            hint += " --extension" if len(family) == 1 else f" --extension {first}"
            yield Problem("facts-disagree", message, last.facts_place, "/version", hint)
        elif core.facts.era == "handshake":
            message = f"requests of {revision} do not say which version of an extension they mean"
            hint = "only revisions without a handshake can tell versions apart: remove it"
            yield Problem("facts-disagree", message, core.facts_place, "/extension_versions", hint)
        else:
            yield from _wrong_versions(family, stated)
            yield from _repeated_claims(family)


def _wrong_versions(family: Sequence[ExtensionSource], rule: Json) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for extension in family:
        place, absent = extension.facts_place, _absent(extension, family)
        stated: Json = extension.facts.get("version", {"is": absent, "absent": absent})
        version, rules = stated["is"], _rule(rule, absent)
        if not absent:
            message = f"nothing says which version {extension.name} is"
            yield Problem("facts-disagree", message, place, hint="write it: version")
            continue
        if stated["absent"] != absent:
            message = f"a declaration without a version means {absent} by other facts"
            yield Problem("facts-disagree", message, place, "/version/absent", "agree on one")
        if rules.agree != "same" and not _SEMANTIC.fullmatch(version):
            message = f"{version!r:.80} has no major and minor number"
            hint = "write it as 2.0.0, or let only equal versions agree: extension_versions.agree"
            yield Problem("facts-disagree", message, place, "/version/is", hint)
        earlier = seen.setdefault(rules.base(version), extension.name)
        if earlier != extension.name:
            message = f"{extension.name} and {earlier} are the same version for their peers"
            hint = "generate one of them: a later minor version has all of the earlier ones"
            yield Problem("facts-disagree", message, place, "/version/is", hint)
        yield from _wrong_methods(extension, version, rules)


def _repeated_claims(family: Sequence[ExtensionSource]) -> Iterator[Problem]:
    """Yield results of core methods that two versions claim: results do not say their version."""
    seen: dict[tuple[str, str], str] = {}
    for extension in family:
        for index, claim in enumerate(extension.facts.get("claims", ())):
            key = method, result_type = claim["method"], claim["result_type"]
            earlier = seen.setdefault(key, extension.name)
            if earlier != extension.name:
                message = f"{earlier} also claims the result {result_type} of {method}"
                hint = "name the result of the later version otherwise, or generate one of them"
                pointer = jsonpointer.join("claims", str(index))
                yield Problem("facts-disagree", message, extension.facts_place, pointer, hint)


def _wrong_methods(
    extension: ExtensionSource, version: str, rule: VersionRule
) -> Iterator[Problem]:
    methods: Mapping[str, Json] = extension.facts.get("methods", {})
    for method, fact in methods.items():
        came = fact.get("version", version)
        if not rule.agrees(came, [version]):
            message = f"{method} came in {came!r:.80}, which {version} does not include"
            hint = "name an earlier minor version of the same major one, or none"
            pointer = jsonpointer.join("methods", method, "version")
            yield Problem("facts-disagree", message, extension.facts_place, pointer, hint)
