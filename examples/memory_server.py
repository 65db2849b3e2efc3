"""Stores the knowledge of models: a graph of entities, their relations and observations.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/memory_server.py                        # over standard input and output
    python examples/memory_server.py --http 8000            # at http://127.0.0.1:8000/mcp

The graph is in the file MEMORY_FILE_PATH, by default memory.jsonl beside this module, with a line
of JSON for each entity and relation.
"""

import json
import os
from argparse import ArgumentParser
from asyncio import Lock, to_thread
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pkg import Depends, ToolError
from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28 import models as m

FOLDER = Path(__file__).resolve().parent
FILE = FOLDER / os.environ.get("MEMORY_FILE_PATH", "memory.jsonl")
URI = "memory://knowledge-graph"
READS = m.ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = m.ToolAnnotations(destructive_hint=False, open_world_hint=False)
DELETES = m.ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=False)

app = mcp.App("memory", version="1.0.0")
changing = Lock()
T = TypeVar("T")


class Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True
    )


class Entity(Model):
    name: str
    entity_type: str = Field(description="The kind of thing, such as person.")
    observations: list[str] = Field(description="Single facts about it.")


class Relation(Model):
    source: str = Field(alias="from", description="Name of the entity at the start.")
    to: str = Field(description="Name of the entity at the end.")
    relation_type: str = Field(description="A verb in the active voice.")


class Entities(Model):
    entities: list[Entity]


class Relations(Model):
    relations: list[Relation]


class Graph(Relations, Entities):
    def around(self, entities: list[Entity]) -> "Graph":
        """Return entities with all relations from and to them."""
        names = {entity.name for entity in entities}
        relations = [link for link in self.relations if names & {link.source, link.to}]
        return Graph(entities=entities, relations=relations)


class Facts(Model):
    entity_name: str
    contents: list[str]


class AddedFacts(Model):
    entity_name: str
    added_observations: list[str]


class Additions(Model):
    results: list[AddedFacts]


class WrongFacts(Model):
    entity_name: str
    observations: list[str]


class Done(Model):
    success: bool = True
    message: str


def load() -> Graph:
    records: dict[str, list[object]] = {"entity": [], "relation": []}
    if FILE.exists():
        with FILE.open(encoding="utf-8") as lines:
            for record in map(json.loads, filter(str.strip, lines)):
                records[record["type"]].append(record)
    return Graph.model_validate({"entities": records["entity"], "relations": records["relation"]})


def save(graph: Graph) -> None:
    """Write the graph to a new file, then replace the old file by it."""
    records = [{"type": "entity", **entity.model_dump()} for entity in graph.entities]
    records += [{"type": "relation", **link.model_dump()} for link in graph.relations]
    file = FILE.with_name(f"{FILE.name}.{os.getpid()}")
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    file.replace(FILE)


async def read() -> Graph:
    return await to_thread(load)


async def change() -> AsyncGenerator[Graph, None]:
    """Give the graph to one call at a time, and save it if the call succeeds."""
    async with changing:
        graph = await read()
        yield graph
        # Not in a thread, which a cancellation would not stop before the next call.
        save(graph)
    await app.resource_updated(URI)


def add(items: list[T], known: list[T]) -> list[T]:
    """Add the unknown items, and return them."""
    new: list[T] = []
    for item in items:
        if item not in known:
            known.append(item)
            new.append(item)
    return new


Read = Annotated[Graph, Depends(read)]
Changed = Annotated[Graph, Depends(change)]


@app.tool(annotations=ADDS)
async def create_entities(entities: list[Entity], graph: Changed) -> Entities:
    """Add entities with new names, and return the added ones."""
    known = {entity.name for entity in graph.entities}
    new = list({entity.name: entity for entity in entities if entity.name not in known}.values())
    graph.entities += new
    return Entities(entities=new)


@app.tool(annotations=ADDS)
async def create_relations(relations: list[Relation], graph: Changed) -> Relations:
    """Add new relations between entities, and return the added ones."""
    return Relations(relations=add(relations, graph.relations))


@app.tool(annotations=ADDS)
async def add_observations(observations: list[Facts], graph: Changed) -> Additions:
    """Add observations to known entities, and return the new ones."""
    entities = {entity.name: entity for entity in graph.entities}
    results: list[AddedFacts] = []
    for facts in observations:
        entity = entities.get(facts.entity_name)
        if entity is None:
            raise ToolError(f"There is no entity with the name {facts.entity_name}")
        new = add(facts.contents, entity.observations)
        results.append(AddedFacts(entity_name=entity.name, added_observations=new))
    return Additions(results=results)


@app.tool(annotations=DELETES)
async def delete_entities(
    entity_names: Annotated[list[str], Field(alias="entityNames")], graph: Changed
) -> Done:
    """Delete entities, and all relations from and to them."""
    gone = set(entity_names)
    graph.entities = [entity for entity in graph.entities if entity.name not in gone]
    graph.relations = [link for link in graph.relations if not gone & {link.source, link.to}]
    return Done(message="The entities are deleted")


@app.tool(annotations=DELETES)
async def delete_observations(deletions: list[WrongFacts], graph: Changed) -> Done:
    """Delete observations of entities."""
    for facts in deletions:
        for entity in graph.entities:
            if entity.name == facts.entity_name:
                wrong = set(facts.observations)
                entity.observations = [fact for fact in entity.observations if fact not in wrong]
    return Done(message="The observations are deleted")


@app.tool(annotations=DELETES)
async def delete_relations(relations: list[Relation], graph: Changed) -> Done:
    """Delete relations."""
    graph.relations = [link for link in graph.relations if link not in relations]
    return Done(message="The relations are deleted")


@app.tool(annotations=READS)
async def read_graph(graph: Read) -> Graph:
    """Read the whole graph."""
    return graph


@app.tool(annotations=READS)
async def search_nodes(query: str, graph: Read) -> Graph:
    """Find entities by a part of their name, type or observations, ignoring case."""
    part = query.lower()

    def matches(entity: Entity) -> bool:
        texts = (entity.name, entity.entity_type, *entity.observations)
        return any(part in text.lower() for text in texts)

    return graph.around([entity for entity in graph.entities if matches(entity)])


@app.tool(annotations=READS)
async def open_nodes(names: list[str], graph: Read) -> Graph:
    """Read entities by name, with their relations."""
    return graph.around([entity for entity in graph.entities if entity.name in names])


@app.resource(URI, name="knowledge-graph", title="Knowledge graph", mime_type="application/json")
async def knowledge_graph(graph: Read) -> Graph:
    """The whole graph."""
    return graph


if __name__ == "__main__":
    parser = ArgumentParser(description="store the knowledge of models")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    port = parser.parse_args().http
    app.run("http", port=port) if port else app.run()
