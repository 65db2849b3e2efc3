"""What refers to what, without recursion: a schema may have a chain of thousands of definitions."""

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

Graph: TypeAlias = Mapping[str, Collection[str]]
"""Each node, with those it refers to; one that is no node itself counts for nothing."""


def targets_first(graph: Graph) -> list[str]:
    """All nodes, each after those it refers to; in a circle, one has to come before."""
    done: dict[str, None] = {}
    begun: set[str] = set()
    for node in graph:
        way = [(node, _targets(node, graph))] if node not in begun else []
        begun.add(node)
        while way:
            here, targets = way[-1]
            following = next((target for target in targets if target not in begun), None)
            if following is None:
                done[here] = None
                way.pop()
            else:
                begun.add(following)
                way.append((following, _targets(following, graph)))
    return list(done)


def _targets(node: str, graph: Graph) -> Iterator[str]:
    return (target for target in graph[node] if target in graph)


def circular(graph: Graph) -> frozenset[str]:
    """The nodes that refer to themselves, directly or through others (Kosaraju's algorithm)."""
    order = targets_first(graph)
    users: dict[str, list[str]] = {node: [] for node in graph}
    for node in graph:
        for target in _targets(node, graph):
            users[target].append(node)
    found: set[str] = set()
    seen: set[str] = set()
    for node in reversed(order):
        # Whoever leads here and was not reached before is in one circle with it.
        waiting = [node] if node not in seen else []
        members: list[str] = []
        seen.add(node)
        while waiting:
            here = waiting.pop()
            members.append(here)
            new = [user for user in dict.fromkeys(users[here]) if user not in seen]
            seen.update(new)
            waiting += new
        if len(members) > 1 or node in graph[node]:
            found.update(members)
    return frozenset(found)
