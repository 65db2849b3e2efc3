"""Translations that tables cannot express, because the destination lacks a member.

Each function takes a value that is valid in the source revision, and returns one that is still
valid there but only uses members of the destination.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic_core import to_json

from ..core.errors import Untranslatable
from ..core.form_fields import labels_beside, several_as_text
from ..core.json import JSONObject, is_array, is_object, read_json, without
from ..core.losses import What
from .report import Place, Report, pointer_of


class Site(NamedTuple):
    """The place of a value, the report of its losses, and their reason."""

    place: Place
    report: Report
    why: str

    def lose(self, what: What, *path: str | int, harmless: bool = False) -> None:
        """Report the loss of the value, or of its part at `path`."""
        self.report.lose(self._at(path), what, self.why, harmless=harmless)

    def without(self, value: JSONObject, member: str, *path: str) -> JSONObject:
        """Return the value at `path` without a member."""
        self.lose("dropped", *path, member)
        return without(value, member)

    def refuse(self, *path: str) -> Any:
        """Raise `Untranslatable` for the value, or for its part at `path`."""
        raise Untranslatable(pointer_of(self._at(path)), self.why)

    def _at(self, path: Iterable[str | int]) -> Place:
        place = self.place
        for step in path:
            place = (place, step)
        return place


Conversion: TypeAlias = Callable[[Any, Site], Any]
ConversionT = TypeVar("ConversionT", bound=Conversion)

CONVERSIONS: Final[dict[str, Conversion]] = {}
"""The functions by name, as the generated tables call them."""


def _register(conversion: ConversionT) -> ConversionT:
    CONVERSIONS[conversion.__name__] = conversion
    return conversion


@_register
def audio_as_resource(block: JSONObject, site: Site) -> JSONObject:
    """Return an audio block as an embedded resource with the same bytes."""
    site.lose("replaced")
    data = block["data"]
    uri = f"audio:{hashlib.sha256(data.encode()).hexdigest()[:16]}"
    resource = {"uri": uri, "mimeType": block["mimeType"], "blob": data}
    return {"type": "resource", "resource": resource, **_common(block)}


@_register
def audio_as_text(block: JSONObject, site: Site) -> JSONObject:
    """Return a text in place of an audio block, where no type can have the bytes."""
    return _as_text(block, f"[audio, {block['mimeType']}, not delivered]", site)


@_register
def link_as_text(block: JSONObject, site: Site) -> JSONObject:
    """Return a resource link as a text block with its title and URI."""
    name = block.get("title", block["name"])
    description = f": {block['description']}" if block.get("description") else ""
    return _as_text(block, f"{name} <{site.report.client_uri(block['uri'])}>{description}", site)


def _as_text(block: JSONObject, text: str, site: Site) -> JSONObject:
    site.lose("replaced")
    return {"type": "text", "text": text, **_common(block)}


def _common(block: JSONObject) -> JSONObject:
    return {key: block[key] for key in ("annotations", "_meta") if block.get(key) is not None}


_RESULT: Final = "result"
"""The member for a value other than an object, where servers must send an object."""


@_register
def structured_content_as_text(result: JSONObject, site: Site) -> JSONObject:
    """Move structured content to a text block, unless a block already has the same JSON or text."""
    if "structuredContent" not in result:
        return result
    site.lose("replaced", "structuredContent")
    return without(_with_text(result), "structuredContent")


def _with_text(result: JSONObject) -> JSONObject:
    structured = result["structuredContent"]
    values = [structured]
    if is_object(structured) and structured.keys() == {_RESULT}:
        values.append(structured[_RESULT])
    content = result["content"]
    if not any(_has(block, value) for block in content for value in values):
        content = [*content, {"type": "text", "text": to_json(structured).decode()}]
    return {**result, "content": content}


def _has(block: JSONObject, value: Any) -> bool:
    """Return whether a block holds the same JSON; to Python itself, 1 and true are equal."""
    if block["type"] != "text":
        return False
    try:
        return block["text"] == value or to_json(read_json(block["text"])) == to_json(value)
    except ValueError:
        return False


@_register
def structured_content_of_objects_only(result: JSONObject, site: Site) -> JSONObject:
    """Wrap structured content that is not a JSON object, and show it as text, too."""
    if "structuredContent" not in result or is_object(result["structuredContent"]):
        return result
    site.lose("replaced", "structuredContent", harmless=True)
    return {**_with_text(result), "structuredContent": {_RESULT: result["structuredContent"]}}


@_register
def structured_content_also_as_text(result: JSONObject, site: Site) -> JSONObject:
    """Show structured content as text, too, unless a block already has the same JSON or text."""
    return _with_text(result) if "structuredContent" in result else result


@_register
def output_schema_of_objects_only(tool: JSONObject, site: Site) -> JSONObject:
    """Wrap an output schema that accepts no object, like its values, and drop any other one."""
    schema = tool.get("outputSchema")
    if schema is None or schema.get("type") == "object":
        return tool
    # A single name, or several.
    if "object" in str(schema.get("type", "object")) or not _is_movable(schema):
        return site.without(tool, "outputSchema")
    site.lose("replaced", "outputSchema", harmless=True)
    # References lead to the root, and the dialect is that of the root.
    outer = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    inner = without(schema, *outer)
    outer |= {"type": "object", "properties": {_RESULT: inner}, "required": [_RESULT]}
    return {**tool, "outputSchema": outer}


def _is_movable(schema: Any) -> bool:
    """Return whether a schema keeps its meaning elsewhere, with its definitions at the root."""
    if is_array(schema):
        return all(map(_is_movable, schema))
    if not is_object(schema):
        return True
    references = [schema.get(key, "#/$defs/") for key in ("$ref", "$dynamicRef", "$recursiveRef")]
    stays = all(
        isinstance(reference, str) and reference.startswith("#/$defs/") for reference in references
    )
    return stays and "$id" not in schema and all(map(_is_movable, schema.values()))


@_register
def tool_schemas_of_known_form(tool: JSONObject, site: Site) -> JSONObject:
    """Drop keywords of a tool's schemas whose shape the destination does not allow."""
    for member in ("inputSchema", "outputSchema"):
        schema: JSONObject = tool.get(member, {})
        for key, is_valid in _TESTS.items():
            if key in schema and not is_valid(schema[key]):
                schema = site.without(schema, key, member)
                tool = {**tool, member: schema}
    return tool


_TESTS: Final[Mapping[str, Callable[[object], bool]]] = {
    "$schema": lambda value: isinstance(value, str),
    "properties": lambda value: is_object(value)
    and all(isinstance(item, (dict, bool)) for item in value.values()),
    "required": lambda value: is_array(value) and all(isinstance(item, str) for item in value),
}


@_register
def one_block_per_message(params: JSONObject, site: Site) -> JSONObject:
    """Split messages of several blocks into several messages of the same role."""
    messages = params["messages"]
    if not any(is_array(message["content"]) for message in messages):
        return params
    split: list[JSONObject] = []
    for message in messages:
        content = message["content"]
        blocks = content if is_array(content) else [content]
        split += ({**message, "content": block} for block in blocks)
    site.lose("replaced", "messages", harmless=len(split) == len(messages))
    return {**params, "messages": split}


@_register
def one_block(result: JSONObject, site: Site) -> JSONObject:
    """Reduce a message of several blocks to one: the joined texts, or the first block."""
    content = result["content"]
    if not is_array(content):
        return result
    is_single = len(content) == 1
    site.lose("replaced", "content", harmless=is_single)
    texts = [block["text"] for block in content if block["type"] == "text"]
    if not is_single and (texts or not content):
        return {**result, "content": {"type": "text", "text": "\n".join(texts)}}
    return {**result, "content": content[0]}


@_register
def no_tools(params: JSONObject, site: Site) -> JSONObject:
    """Refuse sampling with tools: without them the answer would be different."""
    for member in ("tools", "toolChoice"):
        if member in params:
            site.refuse(member)
    return params


@_register
def not_expressible(value: Any, site: Site) -> Any:
    return site.refuse()


@_register
def forms_only(params: JSONObject, site: Site) -> JSONObject:
    return site.refuse("mode") if params.get("mode") == "url" else params


@_register
def forms_if_declared(capabilities: JSONObject, site: Site) -> JSONObject:
    """Drop the capability to elicit by URL alone: the destination has only forms."""
    modes = capabilities.get("elicitation")
    if not modes or "form" in modes or "url" not in modes:
        return capabilities
    return site.without(capabilities, "elicitation")


@_register
def elicitation_id(params: JSONObject, site: Site) -> JSONObject:
    """Add an id to a URL elicitation without one: the same id for the same question."""
    question = to_json([params["message"], params["url"]])
    return {**params, "elicitationId": hashlib.sha256(question).hexdigest()[:32]}


@_register
def plain_fields(field: JSONObject, site: Site) -> JSONObject:
    """Return a form field in the first shape: without defaults, titles beside an enum."""
    if field["type"] == "array":
        site.lose("replaced")
        return several_as_text(field)
    out = fields_without_defaults(field, site)
    choices = out.get("oneOf", ())
    is_titled = is_array(choices) and all(
        is_object(choice) and all(isinstance(choice.get(key), str) for key in ("const", "title"))
        for choice in choices
    )
    if field["type"] == "string" and is_titled and "enum" not in out:
        site.lose("moved", "oneOf", harmless=True)
        return labels_beside(out)
    return out


@_register
def fields_without_defaults(field: JSONObject, site: Site) -> JSONObject:
    """Drop `default` from a field where the destination has none; only a boolean may have one."""
    if field["type"] == "boolean" or "default" not in field:
        return field
    return site.without(field, "default")


@_register
def choices_as_text(result: JSONObject, site: Site) -> JSONObject:
    """Join several choices into one text, with commas between them."""
    content: JSONObject = result.get("content", {})
    lists = {key: value for key, value in content.items() if is_array(value)}
    if not lists:
        return result
    for key in lists:
        site.lose("replaced", "content", key)
    joined = {key: ", ".join(value) for key, value in lists.items()}
    return {**result, "content": {**content, **joined}}


@_register
def at_most_100_values(completion: JSONObject, site: Site) -> JSONObject:
    """Cut suggestions to 100, and say that there are more."""
    values = completion["values"]
    if len(values) <= 100:
        return completion
    for index in range(100, len(values)):
        site.lose("dropped", "values", index)
    return {"total": len(values), **completion, "values": values[:100], "hasMore": True}


@_register
def named_request_only(params: JSONObject, site: Site) -> JSONObject:
    """Refuse a cancellation without a request id: the destination requires one."""
    return params if "requestId" in params else site.refuse("requestId")


@_register
def complete_only(result: JSONObject, site: Site) -> JSONObject:
    """Refuse a result of a type that the destination lacks."""
    kind = result.get("resultType", "complete")
    return result if kind == "complete" else site.refuse("resultType")
