"""The features of the protocol, and modules of models for each feature.

A type in the messages of one feature is in the module of that feature, or in that of its results; a
type of several features is in a shared module, of params, of results or of both; types in no
method, such as whole messages, have another module. A message that has a type also has the types in
it, so modules import in one direction only. Reading a request imports no results, which name most
types.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from mcp_protogen.base.graph import find_reachable
from mcp_protogen.base.names import feature_module
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import MethodIR, RevisionIR, TypeIR

BASE = "base protocol"
"""The feature of methods without another one."""

_BASE, _MESSAGES, _SHARED = "base", "messages", "shared"
_PARAMS, _RESULTS = "_params", "_results"
_ABOUT = {
    _BASE: BASE,
    _BASE + _RESULTS: f"results of the {BASE}",
    _MESSAGES: "whole messages, and types that no method carries",
    _SHARED: "types that several features use",
    _SHARED + _PARAMS: "types that several features use in params",
    _SHARED + _RESULTS: "types that several features use in results",
}


def feature_of(method: MethodIR) -> str:
    """Return the first part of a method's name, or the capability that it needs."""
    name = method.method.removeprefix("notifications/")
    if "/" in name:
        return name.partition("/")[0]
    return method.requires[0].path[0] if method.requires else BASE


def model_modules(ir: RevisionIR) -> Mapping[str, tuple[TypeIR, ...]]:
    """Return the types in each module, by its name."""
    carried: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for method in ir.methods:
        module, question_part, answer_part = _module_of(method), _PARAMS, _RESULTS
        # A result has such a question, and params have its answer: 2026-07-28, basic/patterns/mrtr.
        if method.kind == "embedded":
            question_part, answer_part = answer_part, question_part
        carried[module, question_part].append(method.params)
        carried[module, answer_part] += method.results
    graph = recursion.graph_of(ir.types)
    users: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for user, names in carried.items():
        for name in find_reachable(graph, names):
            users[name].append(user)
    by_module: defaultdict[str, list[TypeIR]] = defaultdict(list)
    for type_ in ir.types:
        by_module[_module_for(users[type_.name])].append(type_)
    return {module: tuple(by_module[module]) for module in sorted(by_module)}


def about(module: str) -> str:
    """Return a phrase about the types of a module."""
    feature = module.removesuffix(_RESULTS)
    return _ABOUT.get(module, module if feature == module else f"results of {feature}")


def _module_for(users: Collection[tuple[str, str]]) -> str:
    """Return the module of a type that these features have in these parts of their messages."""
    features = {feature for feature, _ in users}
    parts = {part for _, part in users}
    if not features:
        return _MESSAGES
    if len(features) == 1:
        return features.pop() + (_RESULTS if parts == {_RESULTS} else "")
    return _SHARED + (parts.pop() if len(parts) == 1 else "")


def _module_of(method: MethodIR) -> str:
    feature = feature_of(method)
    module = feature_module(feature) if feature != BASE else None
    # Shared types import none of a feature, and types of a feature import no whole messages.
    return f"{module}_" if module in (_SHARED, _MESSAGES) else module or _BASE
