"""A drawing as a value, and as text: for Graphviz, for Mermaid, and for those who cannot see it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

FONT: Final = "Helvetica"
"""A font whose widths Graphviz knows."""
LARGE: Final = 16
SMALL: Final = 14
"""The sizes for which room is made; what is drawn is smaller, since fonts of readers are wider."""
START: Final = "[*]"
"""What leads to the first state of a machine; in Mermaid's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """States or steps, and what leads from one to another."""

    title: str
    kind: Literal["states", "flow"]
    edges: Sequence[tuple[str, str, str]]
    """From where, on what, and to where, in the order to be drawn and read."""
    ends: frozenset[str] = frozenset()
    """Where nothing follows."""

    @property
    def nodes(self) -> Sequence[str]:
        """Everything that an edge begins or ends at, once."""
        return [*dict.fromkeys(node for start, _, end in self.edges for node in (start, end))]

    @property
    def joined(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """The labels of all edges between two nodes, by these."""
        found: dict[tuple[str, str], list[str]] = {}
        for start, label, end in self.edges:
            found.setdefault((start, end), []).append(label)
        return found


def mermaid(graph: Graph) -> str:
    """Return a graph for git hosts, which draw it."""
    if graph.kind == "states":
        states = (
            f"    {start} --> {end}{f': {label}' if label else ''}"
            for (start, end), labels in graph.joined.items()
            for label in labels
        )
        return "\n".join(["stateDiagram-v2", *states]) + "\n"
    names = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart TD", *(f'    {names[node]}["{node}"]' for node in graph.nodes)]
    for (start, end), labels in graph.joined.items():
        lines.append(f'    {names[start]} -->|"{"<br>".join(labels)}"| {names[end]}')
    return "\n".join(lines) + "\n"


def dot(graph: Graph) -> str:
    """Return a graph for Graphviz, without colours, which the style of the site has."""
    direction = "LR" if graph.kind == "states" else "TB"
    lines = [
        f"digraph {{ rankdir={direction}; bgcolor=transparent; nodesep=0.35; ranksep=0.6;",
        f'node [shape=box, style=rounded, margin="0.15,0.08", fontname="{FONT}"];',
        f'node [fontsize={LARGE}]; edge [fontname="{FONT}", fontsize={SMALL}];',
    ]
    for node in graph.nodes:
        if node == START:
            lines.append(f'{json.dumps(node)} [shape=point, width=0.12, label=""];')
        elif node in graph.ends:
            lines.append(f"{json.dumps(node)} [peripheries=2];")
    for (start, end), labels in graph.joined.items():
        said = json.dumps("\n".join(labels))
        lines.append(f"{json.dumps(start)} -> {json.dumps(end)} [label={said}];")
    return "\n".join([*lines, "}"])


def table(graph: Graph) -> str:
    """Return a graph as a table of Markdown, which says the same."""
    rows = (
        f"| {'the beginning' if start == START else start} | {', or '.join(labels)} | {end} |\n"
        for (start, end), labels in graph.joined.items()
    )
    return f"| from | on | to |\n|---|---|---|\n{''.join(rows)}"
