"""The feature of the protocol that a change belongs to, by methods, capabilities and types.

A feature is the common part of method names before the first `/`, with the capability that belongs
to them and the types that no other feature sends. A type that several features share is a separate
feature.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from mcp_protogen.instep.compare.definitions import Types
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.instep.compare.traffic import envelopes, error_code, find_reachable
from mcp_protogen.pipeline.derive.model_modules import BASE, feature_of
from mcp_protogen.pipeline.reports.change import Category, ReportedChange

_UNSENT = "types that nobody sends"
_ERRORS = "error codes"
_BY_CATEGORY: Mapping[Category, str] = {
    Category.ERROR: _ERRORS,
    Category.META_KEY: "_meta",
    Category.HEADER: "HTTP headers",
    Category.RULE: BASE,
    Category.TRANSPORT: "transports",
}
_OF_TYPES = frozenset({Category.TYPE, Category.FIELD, Category.UNION, Category.ENUM})
# A member that changes alike in so many types, of several features, is one feature.
_ALIKE = 3


class Features:
    """The features of two sides."""

    def __init__(self, types: Types) -> None:
        self._revisions = types.before, types.after

    @property
    def came(self) -> tuple[str, ...]:
        """The features that only the side after has."""
        was, now = map(self._present, self._revisions)
        return tuple(sorted(now - was))

    @property
    def went(self) -> tuple[str, ...]:
        """The features that only the side before has."""
        was, now = map(self._present, self._revisions)
        return tuple(sorted(was - now))

    def add_features(self, changes: Iterable[ReportedChange]) -> Iterator[ReportedChange]:
        """Yield the changes, each with its feature."""
        found = [(change, self._of(change)) for change in changes]
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for change, feature in found:
            if change.category is Category.FIELD:
                alike[_likeness(change)].append(feature)
        for change, feature in found:
            others = alike.get(_likeness(change), ())
            across = len(others) >= _ALIKE and len({*others}) > 1
            name = _member(change) if change.category is Category.FIELD and across else feature
            yield replace(change, feature=name)

    def _of(self, change: ReportedChange) -> str:
        if change.category is Category.METHOD:
            return self._by_method[change.item]
        if change.category is Category.CAPABILITY:
            return self._of_capability(change.item.partition(":")[2])
        if change.category in _OF_TYPES:
            return self._of_type(_owner(change))
        return _BY_CATEGORY.get(change.category, BASE)

    @cached_property
    def _by_method(self) -> Mapping[str, str]:
        methods = [method for revision in self._revisions for method in revision.ir.methods]
        found = {method.method: feature_of(method) for method in methods}
        numbers = Counter(found.values())
        declared = {
            capability.path[0]
            for revision in self._revisions
            for capability in revision.ir.capabilities
        }
        gated = {method.method for method in methods if method.requires}
        # A single method without a capability is best called by its own name.
        return {
            method: method if numbers[name] == 1 and name not in declared | {BASE} else name
            for method, name in found.items()
        } | {method: found[method] for method in gated}

    def _of_capability(self, path: str) -> str:
        name = path.partition(".")[0]
        if name in self._by_method.values():
            return name
        gated = {
            self._by_method[method.method]
            for revision in self._revisions
            for method in revision.ir.methods
            if any(requirement.path[0] == name for requirement in method.requires)
        }
        return gated.pop() if len(gated) == 1 else name

    def _present(self, revision: ComparedRevision) -> frozenset[str]:
        methods = (self._by_method[method.method] for method in revision.ir.methods)
        paths = (
            self._of_capability(".".join(capability.path))
            for capability in revision.ir.capabilities
        )
        return frozenset((*methods, *paths))

    def _of_type(self, name: str) -> str:
        was, now = (features.get(name, frozenset[str]()) for features in self._by_type)
        features = was & now or was | now
        if len(features) == 1:
            return next(iter(features))
        if features:
            return name
        schemas = [revision.definitions.get(name, {}) for revision in self._revisions]
        if any(error_code(schema) for schema in schemas):
            return _ERRORS
        return (
            BASE
            if any(name in envelopes(revision.definitions) for revision in self._revisions)
            else _UNSENT
        )

    @cached_property
    def _by_type(self) -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
        """The features whose messages may contain a type, by type; before, and after."""
        before, after = map(self._features_by_type, self._revisions)
        return before, after

    def _features_by_type(self, revision: ComparedRevision) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for method in revision.ir.methods:
            for name in find_reachable(revision.definitions, (method.message, *method.results)):
                found[name].add(self._by_method[method.method])
        return {name: frozenset(features) for name, features in found.items()}


def _owner(change: ReportedChange) -> str:
    return change.item.partition(".")[0].partition("[")[0].partition("{")[0]


def _member(change: ReportedChange) -> str:
    return change.item.rpartition(".")[2]


def _likeness(change: ReportedChange) -> tuple[str, ...]:
    return change.code, _member(change), change.before, change.after
