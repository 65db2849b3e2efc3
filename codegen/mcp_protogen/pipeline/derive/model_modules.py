"""The features of the protocol, and a module of models for each feature.

A type in the messages of one feature is in the module of that feature; a type of several features
is in a shared module; types in no method, such as whole messages, have another module. So modules
import from each other in one direction only: a type refers only to types of at least as many
features.
"""

from collections import defaultdict
from collections.abc import Mapping

from mcp_protogen.base.graph import find_reachable
from mcp_protogen.base.names import feature_module
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import MethodIR, RevisionIR, TypeIR

BASE = "base protocol"
"""The feature of methods without another one."""

_BASE, _MESSAGES, _SHARED = "base", "messages", "shared"
_ABOUT = {
    _BASE: BASE,
    _MESSAGES: "whole messages, and types that no method carries",
    _SHARED: "types that several features use",
}


def feature_of(method: MethodIR) -> str:
    """Return the first part of a method's name, or the capability that it needs."""
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
    by_module: defaultdict[str, list[TypeIR]] = defaultdict(list)
    for type_ in ir.types:
        modules = users[type_.name] or [_MESSAGES]
        by_module[modules[0] if len(modules) == 1 else _SHARED].append(type_)
    return {module: tuple(by_module[module]) for module in sorted(by_module)}


def about(module: str) -> str:
    """Return a phrase about the types of a module."""
    return _ABOUT.get(module, module)


def _module_of(method: MethodIR) -> str:
    feature = feature_of(method)
    return _BASE if feature == BASE else feature_module(feature) or _BASE
