"""The rules that let only some principals have items of a server."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, get_args

from mcp_protogen.runtime.core.http_request import Principal
from mcp_protogen.runtime.core.json import is_array, is_object
from mcp_protogen.servers.gateway.settings.filters import Filters
from mcp_protogen.servers.gateway.settings.settings import ItemKind, Patterns, RuleSettings


class AccessRules:
    """The rules of one server. An item that a rule is about needs one that holds."""

    def __init__(self, rules: Iterable[RuleSettings]) -> None:
        self._rules = [_Rule(rule) for rule in rules]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def permit(self, kind: str, own: str, principal: Principal | None) -> bool:
        """Return whether a principal may have an item; `kind` may also be the name of a list."""
        about = [rule for rule in self._rules if rule.is_about(kind, own)]
        return not about or any(
            rule.holds_for(principal) and rule.gives(kind, own) for rule in about
        )

    def permit_any(self, principal: Principal | None) -> bool:
        """Return whether a principal may have some item of the server."""
        return not any(rule.is_about_all for rule in self._rules) or any(
            rule.holds_for(principal) for rule in self._rules
        )


class _Rule:
    """One rule. It is about an item if any spelling of its URI fits, and gives it if all do."""

    def __init__(self, settings: RuleSettings) -> None:
        patterns: Patterns = {
            kind: globs for kind in get_args(ItemKind) if (globs := getattr(settings, kind))
        }
        self._settings = settings
        self._others, self._own = Filters({}, patterns), Filters(patterns, {})
        self.is_about_all = not patterns

    def is_about(self, kind: str, own: str) -> bool:
        return self.is_about_all or not self._others.offer(kind, own)

    def gives(self, kind: str, own: str) -> bool:
        return self._own.offer(kind, own)

    def holds_for(self, principal: Principal | None) -> bool:
        settings = self._settings
        if principal is None:
            return False
        ids = settings.principals
        return (
            (not ids or any(fnmatchcase(principal.id, glob) for glob in ids))
            and settings.scopes <= principal.scopes
            and _have(principal.claims, settings.claims)
        )


def _have(claims: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in claims and _has(claims[name], value) for name, value in wanted.items())


def _has(claim: object, wanted: object) -> bool:
    """Return whether a claim is a value, or has it as an element, a word or a member."""
    if is_object(wanted):
        return is_object(claim) and _have(claim, wanted)
    if is_array(claim):
        return any(_is_same(element, wanted) for element in claim)
    return _is_same(claim, wanted) or (isinstance(claim, str) and wanted in claim.split())


def _is_same(claim: object, wanted: object) -> bool:
    # In Python, True is 1.
    return type(claim) is type(wanted) and claim == wanted
