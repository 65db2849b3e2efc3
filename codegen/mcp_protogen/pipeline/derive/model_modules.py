"""The features of the protocol, and the modules of a revision's models: one for each feature.

A type that the messages of one feature carry is in its module, and one that several carry in a
module that these share. What no method carries, such as whole messages, is in a module of its own.
So modules import from each other in one direction only: a type refers to nothing that is carried
by fewer features than itself.
"""

from collections import defaultdict
from collections.abc import Mapping

from mcp_protogen.base.graph import find_reachable
from mcp_protogen.base.names import feature_module
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import MethodIR, RevisionIR, TypeIR

BASE = "base protocol"
"""What the methods without a feature belong to."""

_BASE, _MESSAGES, _SHARED = "base", "messages", "shared"
_ABOUT = {
    _BASE: BASE,
    _MESSAGES: "whole messages, and what no method carries",
    _SHARED: "what several features use",
}


def feature_of(method: MethodIR) -> str:
    """Return the first part of a method's name; without one, the capability that it needs."""
    name = method.method.removeprefix("notifications/")
    if "/" in name:
        return name.partition("/")[0]
    return method.requires[0].path[0] if method.requires else BASE


def model_modules(ir: RevisionIR) -> Mapping[str, tuple[TypeIR, ...]]:
    """Return the types in each module, by its name."""
    carried: defaultdict[str, list[str]] = defaultdict(list)
    for method in ir.methods:
        carried[_module_of(method)] += (method.params, *method.results)
    graph = recursion.graph_of(ir.types)
    users: defaultdict[str, list[str]] = defaultdict(list)
    for module, names in carried.items():
        for name in find_reachable(graph, names):
            users[name].append(module)
    found: defaultdict[str, list[TypeIR]] = defaultdict(list)
    for type_ in ir.types:
        modules = users[type_.name] or [_MESSAGES]
        found[modules[0] if len(modules) == 1 else _SHARED].append(type_)
    return {module: tuple(found[module]) for module in sorted(found)}


def about(module: str) -> str:
    """Return what the types of a module have in common."""
    return _ABOUT.get(module, module)


def _module_of(method: MethodIR) -> str:
    feature = feature_of(method)
    return _BASE if feature == BASE else feature_module(feature) or _BASE
