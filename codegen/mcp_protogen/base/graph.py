"""The order of references, without recursion: a schema may have very long chains of them."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

Graph: TypeAlias = Mapping[str, Collection[str]]
"""Each node with the nodes that it refers to; unknown ones are ignored."""
_Node = TypeVar("_Node", bound=Hashable)


def dependencies_first(graph: Graph) -> list[str]:
    """Return all nodes, each after those that it refers to; a cycle is cut at one place."""
    done: dict[str, None] = {}
    begun: set[str] = set()
    for node in graph:
        path = [(node, _dependencies(node, graph))] if node not in begun else []
        begun.add(node)
        while path:
            here, dependencies = path[-1]
            following = next(
                (dependency for dependency in dependencies if dependency not in begun), None
            )
            if following is None:
                done[here] = None
                path.pop()
            else:
                begun.add(following)
                path.append((following, _dependencies(following, graph)))
    return list(done)


def _dependencies(node: str, graph: Graph) -> Iterator[str]:
    return (dependency for dependency in graph[node] if dependency in graph)


def find_reachable(graph: Graph, starts: Iterable[str]) -> set[str]:
    """Return the nodes in `starts` and all nodes reachable from them."""
    return {node for node in reach(starts, lambda node: graph.get(node, ())) if node in graph}


def reach(starts: Iterable[_Node], below: Callable[[_Node], Iterable[_Node]]) -> Iterator[_Node]:
    """Yield the nodes in `starts` and the nodes `below` them, each once, depth first."""
    found: set[_Node] = set()
    waiting = [*starts][::-1]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            yield node
            waiting += [*below(node)][::-1]


def circular(graph: Graph) -> frozenset[str]:
    """Return the nodes that refer to themselves, directly or through others.

    This is Kosaraju's algorithm.
    """
    order = dependencies_first(graph)
    users: dict[str, list[str]] = {node: [] for node in graph}
    for node in graph:
        for dependency in _dependencies(node, graph):
            users[dependency].append(node)
    found: set[str] = set()
    seen: set[str] = set()
    for node in reversed(order):
        # A node that leads here and was not reached before is in one cycle with it.
        if node in seen:
            continue
        members = {*reach([node], lambda here: (user for user in users[here] if user not in seen))}
        seen.update(members)
        if len(members) > 1 or node in graph[node]:
            found.update(members)
    return frozenset(found)
