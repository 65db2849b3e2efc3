"""A drawing as a value, and as text: for Graphviz, for Mermaid, and for screen readers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from website.markdown import table

FONT: Final = "Helvetica"
"""A font whose widths Graphviz knows."""
LARGE: Final = 16
SMALL: Final = 14
"""Sizes that reserve room; the drawing uses smaller ones, since fonts of readers are wider."""
START: Final = "[*]"
"""The start of a state machine in Mermaid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """States or steps, and the edges between them."""

    title: str
    kind: Literal["states", "flow"]
    edges: Sequence[tuple[str, str, str]]
    """Source, label and target of each edge, in the order for drawing and reading."""
    ends: frozenset[str] = frozenset()
    """The last nodes."""

    @property
    def nodes(self) -> Sequence[str]:
        """The ends of all edges, once each."""
        return [*dict.fromkeys(node for start, _, end in self.edges for node in (start, end))]

    @property
    def joined(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """The labels of all edges between two nodes, by these nodes."""
        found: dict[tuple[str, str], list[str]] = {}
        for start, label, end in self.edges:
            found.setdefault((start, end), []).append(label)
        return found


def mermaid(graph: Graph) -> str:
    """Return a graph for git hosts."""
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
    """Return a graph for Graphviz, without colours, which the style of the site adds."""
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


def as_table(graph: Graph) -> str:
    """Return a graph as a table of Markdown."""
    rows = (
        ("the beginning" if start == START else start, ", or ".join(labels), end)
        for (start, end), labels in graph.joined.items()
    )
    return table(("from", "on", "to"), rows)
