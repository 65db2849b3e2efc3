"""Remembers what models learn, as a graph of entities, their relations, and observations of them.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/memory_server.py                        # over standard input and output
    python examples/memory_server.py --http 8000            # at http://127.0.0.1:8000/mcp

The graph is in the file that MEMORY_FILE_PATH names, a line of JSON for each entity and relation,
and in memory.jsonl beside this module if it names none.
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
    entity_type: str = Field(description="What kind of thing it is.")
    observations: list[str] = Field(description="Facts about it, each by itself.")


class Relation(Model):
    source: str = Field(alias="from", description="Name of the entity that it starts from.")
    to: str = Field(description="Name of the entity that it leads to.")
    relation_type: str = Field(description="A verb in the active voice.")


class Entities(Model):
    entities: list[Entity]


class Relations(Model):
    relations: list[Relation]


class Graph(Relations, Entities):
    def around(self, entities: list[Entity]) -> "Graph":
        """Return some of the entities, with all relations from and to them."""
        names = {one.name for one in entities}
        relations = [one for one in self.relations if names & {one.source, one.to}]
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
    """Write the graph to another file, which takes the place of this one when it is complete."""
    records = [{"type": "entity", **one.model_dump()} for one in graph.entities]
    records += [{"type": "relation", **one.model_dump()} for one in graph.relations]
    written = FILE.with_name(f"{FILE.name}.{os.getpid()}")
    written.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    written.replace(FILE)


async def read() -> Graph:
    return await to_thread(load)


async def change() -> AsyncGenerator[Graph, None]:
    """Give the graph to one call at a time, and keep what has become of it if the call succeeds."""
    async with changing:
        graph = await read()
        yield graph
        # In a thread, it would go on after a cancellation, beside the next call.
        save(graph)
    await app.resource_updated(URI)


def add(items: list[T], known: list[T]) -> list[T]:
    """Add the items that are new, and return them."""
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
    """Add entities with names that are new, and return those that were added."""
    known = {one.name for one in graph.entities}
    new = list({one.name: one for one in entities if one.name not in known}.values())
    graph.entities += new
    return Entities(entities=new)


@app.tool(annotations=ADDS)
async def create_relations(relations: list[Relation], graph: Changed) -> Relations:
    """Add relations between entities that are new, and return those that were added."""
    return Relations(relations=add(relations, graph.relations))


@app.tool(annotations=ADDS)
async def add_observations(observations: list[Facts], graph: Changed) -> Additions:
    """Add observations to entities that there are, and return those that are new."""
    entities = {one.name: one for one in graph.entities}
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
    graph.entities = [one for one in graph.entities if one.name not in gone]
    graph.relations = [one for one in graph.relations if not gone & {one.source, one.to}]
    return Done(message="The entities are deleted")


@app.tool(annotations=DELETES)
async def delete_observations(deletions: list[WrongFacts], graph: Changed) -> Done:
    """Delete observations of entities."""
    for facts in deletions:
        for entity in graph.entities:
            if entity.name == facts.entity_name:
                kept = [one for one in entity.observations if one not in facts.observations]
                entity.observations = kept
    return Done(message="The observations are deleted")


@app.tool(annotations=DELETES)
async def delete_relations(relations: list[Relation], graph: Changed) -> Done:
    """Delete relations."""
    graph.relations = [one for one in graph.relations if one not in relations]
    return Done(message="The relations are deleted")


@app.tool(annotations=READS)
async def read_graph(graph: Read) -> Graph:
    """Read everything that is remembered."""
    return graph


@app.tool(annotations=READS)
async def search_nodes(query: str, graph: Read) -> Graph:
    """Find entities by a part of their name, type or observations, in upper or lower case."""
    part = query.lower()

    def fits(entity: Entity) -> bool:
        texts = (entity.name, entity.entity_type, *entity.observations)
        return any(part in text.lower() for text in texts)

    return graph.around([one for one in graph.entities if fits(one)])


@app.tool(annotations=READS)
async def open_nodes(names: list[str], graph: Read) -> Graph:
    """Read the entities of these names, and their relations."""
    return graph.around([one for one in graph.entities if one.name in names])


@app.resource(URI, name="knowledge-graph", title="Knowledge graph", mime_type="application/json")
async def knowledge_graph(graph: Read) -> Graph:
    """Everything that is remembered."""
    return graph


if __name__ == "__main__":
    parser = ArgumentParser(description="remember what models learn")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    port = parser.parse_args().http
    app.run("http", port=port) if port else app.run()
