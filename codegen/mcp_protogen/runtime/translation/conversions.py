"""The functions that translate what tables cannot: what the target revision has no member for.

Each takes a value that is valid in the source revision, and returns one that is valid there too but
uses only what the target revision has. `why` is the reason that the report gives.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from pydantic_core import to_json

from ..core.json import JSONObject, is_array, is_object, read_json
from ..core.losses import Place, Report, refuse

Conversion: TypeAlias = Callable[[Any, Place, Report, str], Any]
ConversionT = TypeVar("ConversionT", bound=Conversion)

CONVERSIONS: Final[dict[str, Conversion]] = {}
"""The functions by their names, as the generated tables call them."""


def _listed(conversion: ConversionT) -> ConversionT:
    CONVERSIONS[conversion.__name__] = conversion
    return conversion


# Content.


def _dropped(value: JSONObject, member: str, at: Place, report: Report, why: str) -> JSONObject:
    report.lose((at, member), "dropped", why)
    return {key: one for key, one in value.items() if key != member}


@_listed
def audio_as_resource(block: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Return an audio block as an embedded resource with the same bytes."""
    report.lose(at, "replaced", why)
    data: str = block["data"]
    uri = f"audio:{hashlib.sha256(data.encode()).hexdigest()[:16]}"
    resource = {"uri": uri, "mimeType": block["mimeType"], "blob": data}
    return {"type": "resource", "resource": resource, **_common(block)}


@_listed
def audio_as_text(block: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Return a text in place of an audio block, where no type can hold the bytes."""
    report.lose(at, "replaced", why)
    text = f"[audio, {block['mimeType']}, not delivered]"
    return {"type": "text", "text": text, **_common(block)}


@_listed
def link_as_text(block: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Return a resource link as a text block with its title and URI."""
    report.lose(at, "replaced", why)
    name = block.get("title", block["name"])
    description = f": {block['description']}" if block.get("description") else ""
    return {"type": "text", "text": f"{name} <{block['uri']}>{description}", **_common(block)}


def _common(block: JSONObject) -> JSONObject:
    """Return the members that every kind of content block may have."""
    return {key: block[key] for key in ("annotations", "_meta") if block.get(key) is not None}


@_listed
def structured_content_as_text(
    result: JSONObject, at: Place, report: Report, why: str
) -> JSONObject:
    """Move structured content to a text block, unless a block already has the same JSON."""
    if "structuredContent" not in result:
        return result
    out = dict(result)
    structured = out.pop("structuredContent")
    report.lose((at, "structuredContent"), "replaced", why)
    text = to_json(structured)
    if not any(_holds(block, text) for block in out["content"]):
        out["content"] = [*out["content"], {"type": "text", "text": text.decode()}]
    return out


def _holds(block: JSONObject, text: bytes) -> bool:
    """Return whether a block holds the same JSON; to Python itself, 1 and true are equal."""
    try:
        return block["type"] == "text" and to_json(read_json(block["text"])) == text
    except ValueError:
        return False


@_listed
def structured_content_of_objects_only(
    holder: JSONObject, at: Place, report: Report, why: str
) -> JSONObject:
    """Move structured content that is not a JSON object to a text block."""
    if "structuredContent" not in holder or is_object(holder["structuredContent"]):
        return holder
    return structured_content_as_text(holder, at, report, why)


# Tools.


@_listed
def output_schema_of_objects_only(
    tool: JSONObject, at: Place, report: Report, why: str
) -> JSONObject:
    """Drop an output schema whose root is not of the type object."""
    schema = tool.get("outputSchema")
    if schema is None or schema.get("type") == "object":
        return tool
    return _dropped(tool, "outputSchema", at, report, why)


@_listed
def tool_schemas_of_known_form(tool: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Drop the keywords of a tool's schemas that do not have the form the target requires."""
    for member in ("inputSchema", "outputSchema"):
        schema: JSONObject = tool.get(member, {})
        for key, has_form in _FORMS.items():
            if key in schema and not has_form(schema[key]):
                schema = _dropped(schema, key, (at, member), report, why)
                tool = {**tool, member: schema}
    return tool


_FORMS: Final[Mapping[str, Callable[[object], bool]]] = {
    "$schema": lambda value: isinstance(value, str),
    "properties": lambda value: is_object(value)
    and all(isinstance(one, (dict, bool)) for one in value.values()),
    "required": lambda value: is_array(value) and all(isinstance(one, str) for one in value),
}


# Sampling.


@_listed
def one_block_per_message(params: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Split messages of several blocks into several messages of the same role."""
    messages: list[JSONObject] = params["messages"]
    if not any(is_array(message["content"]) for message in messages):
        return params
    split: list[JSONObject] = []
    for message in messages:
        content = message["content"]
        blocks = content if is_array(content) else [content]
        split += ({**message, "content": block} for block in blocks)
    report.lose((at, "messages"), "replaced", why, harmless=len(split) == len(messages))
    return {**params, "messages": split}


@_listed
def one_block(result: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Reduce a message of several blocks to one: their texts together, or else the first block."""
    content = result["content"]
    if not is_array(content):
        return result
    is_single = len(content) == 1
    report.lose((at, "content"), "replaced", why, harmless=is_single)
    texts = [block["text"] for block in content if block["type"] == "text"]
    if not is_single and (texts or not content):
        return {**result, "content": {"type": "text", "text": "\n".join(texts)}}
    return {**result, "content": content[0]}


@_listed
def no_tools(params: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Refuse sampling with tools: without them the answer would be different."""
    for member in ("tools", "toolChoice"):
        if member in params:
            refuse((at, member), why)
    return params


@_listed
def not_expressible(value: Any, at: Place, report: Report, why: str) -> Any:
    """Refuse a value that the target cannot express."""
    return refuse(at, why)


# Elicitation.


@_listed
def forms_only(params: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Refuse an elicitation by URL."""
    return refuse((at, "mode"), why) if params.get("mode") == "url" else params


@_listed
def forms_if_declared(capabilities: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Drop the capability to elicit by URL alone: the target revision has only forms."""
    modes = capabilities.get("elicitation")
    if not modes or "form" in modes or "url" not in modes:
        return capabilities
    return _dropped(capabilities, "elicitation", at, report, why)


@_listed
def elicitation_id(params: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Add an id to a URL elicitation that has none: the same id for the same question."""
    question = to_json([params["message"], params["url"]])
    return {**params, "elicitationId": hashlib.sha256(question).hexdigest()[:32]}


@_listed
def plain_fields(field: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Return a form field as the first forms have it: without defaults, titles beside an enum."""
    if field["type"] == "array":
        return _free_list(field, at, report, why)
    out = dict(fields_without_defaults(field, at, report, why))
    choices = _choices(out.get("oneOf"))
    if field["type"] == "string" and choices is not None and "enum" not in out:
        del out["oneOf"]
        out["enum"] = [choice["const"] for choice in choices]
        out["enumNames"] = [choice["title"] for choice in choices]
        report.lose((at, "oneOf"), "moved", why, harmless=True)
    return out


def _choices(value: object) -> list[JSONObject] | None:
    """Return the titled choices of a field, or None if they are something else."""
    choices: list[Any] = value if is_array(value) else [None]
    return choices if all(map(_is_choice, choices)) else None


def _is_choice(value: object) -> bool:
    texts = [value.get(member) for member in ("const", "title")] if is_object(value) else [None]
    return all(isinstance(text, str) for text in texts)


@_listed
def fields_without_defaults(field: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Drop `default` from a field where the target has none; only a boolean may have one."""
    if field["type"] == "boolean" or "default" not in field:
        return field
    return _dropped(field, "default", at, report, why)


def _free_list(field: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Return a list of choices as a text field whose description names the choices."""
    report.lose(at, "replaced", why)
    items: JSONObject = field["items"]
    choices = ", ".join(items["enum"] if "enum" in items else (c["const"] for c in items["anyOf"]))
    hint = f"Any of these, separated by commas: {choices}"
    description = f"{field['description']} {hint}" if field.get("description") else hint
    plain: JSONObject = {"type": "string", "description": description}
    if "title" in field:
        plain["title"] = field["title"]
    return plain


@_listed
def choices_as_text(result: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Join several choices into one text, with commas between them."""
    content: JSONObject = result.get("content", {})
    lists = {key: value for key, value in content.items() if is_array(value)}
    if not lists:
        return result
    for key in lists:
        report.lose(((at, "content"), key), "replaced", why)
    joined = {key: ", ".join(value) for key, value in lists.items()}
    return {**result, "content": {**content, **joined}}


# Completion.


@_listed
def at_most_100_values(completion: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Cut suggestions to 100, and say that there are more."""
    values: list[str] = completion["values"]
    if len(values) <= 100:
        return completion
    for index in range(100, len(values)):
        report.lose(((at, "values"), index), "dropped", why)
    return {"total": len(values), **completion, "values": values[:100], "hasMore": True}


# Cancellation.


@_listed
def named_request_only(params: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Refuse a cancellation without a request id: the target requires one."""
    return params if "requestId" in params else refuse((at, "requestId"), why)


# Results.


@_listed
def complete_only(result: JSONObject, at: Place, report: Report, why: str) -> JSONObject:
    """Refuse a result of a type that the target does not have."""
    kind = result.get("resultType", "complete")
    return result if kind == "complete" else refuse((at, "resultType"), why)
