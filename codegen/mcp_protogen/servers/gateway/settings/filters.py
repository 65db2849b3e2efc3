"""The patterns that allow or deny the items of a server, by its own names and URIs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from typing import Final, TypeAlias
from urllib.parse import unquote

from mcp_protogen.servers.gateway.settings.settings import Patterns

_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")
_PLAIN: Final = re.compile(r"\{\w+\}", re.ASCII)
_URI: Final = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(/*)(.*)", re.DOTALL)
_SEGMENT, _REST = "\0", "\1"

# What many parsers drop at the ends and within, and read as a slash
# (https://url.spec.whatwg.org/#concept-basic-url-parser).
_AROUND: Final = "".join(map(chr, range(0x21)))
_WITHIN: Final = str.maketrans({"\t": None, "\n": None, "\r": None, "\\": "/"})
# Many servers read the path of a file alone: no host, query and fragment.
_HOST: Final = re.compile(r"^file:(?://[^/]*/|/*)")
_QUERY: Final = re.compile(r"[?#].*", re.DOTALL)

_Compiled: TypeAlias = Mapping[str, re.Pattern[str]]


class Filters:
    """The items that are offered: those that are allowed and not denied.

    A kind without patterns in `allow` is allowed whole. Patterns of templates also hold for the
    URIs of the templates, and all patterns for every spelling of a URI: those that deny whatever
    its case, and also for the URI without its query.
    """

    def __init__(self, allow: Patterns, deny: Patterns) -> None:
        self._allowed: _Compiled = {kind: _union(_allowing(allow[kind])) for kind in allow}
        self._denied: _Compiled = {
            kind: _union(_denying(deny[kind]), re.IGNORECASE if kind == "resources" else 0)
            for kind in deny
        }

    def offer(self, kind: str, own: str) -> bool:
        """Return whether an item is offered; `kind` may also be the name of a list."""
        is_uri = kind.startswith("resource")
        kind = "resources" if is_uri else kind
        allowed, denied = self._allowed.get(kind), self._denied.get(kind)
        if allowed is None and denied is None:
            return True
        spelled = spellings(own) if is_uri else (own,)
        if allowed is not None and not all(map(allowed.match, spelled)):
            return False
        if is_uri:
            spelled += spellings(_QUERY.sub("", own))
            spelled += tuple(_HOST.sub("file:///", uri) for uri in spelled)
        return denied is None or not any(map(denied.match, spelled))


def _union(patterns: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    # Without patterns nothing matches.
    return re.compile("|".join(patterns) or r"(?!)", flags)


def _allowing(globs: Iterable[str]) -> Iterator[str]:
    for glob in globs:
        yield translate(glob)
        if _EXPRESSION.search(glob):
            marked = _EXPRESSION.sub(_REST, _PLAIN.sub(_SEGMENT, glob))
            # A plain variable has no slash, as in `UriTemplate.match`.
            yield translate(marked).replace(_SEGMENT, "[^/?#]*").replace(_REST, ".*")


def _denying(globs: Iterable[str]) -> Iterator[str]:
    for glob in globs:
        yield translate(glob)
        if _EXPRESSION.search(glob):
            yield translate(_EXPRESSION.sub("*", glob))


def spellings(uri: str) -> tuple[str, ...]:
    """Return a URI as it is, and in the normal form of RFC 3986, section 6.2.2."""
    match = _URI.fullmatch(unquote(uri.strip(_AROUND)).translate(_WITHIN))
    assert match is not None
    scheme, slashes, rest = match.groups()
    steps: list[str] = []
    for step in rest.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    end = "/" if rest.endswith(("/", "/.", "/..")) else ""
    start = "" if scheme is None else f"{scheme.lower()}:"
    return uri, f"{start}{slashes[:3]}{'/'.join(steps)}{end}"
