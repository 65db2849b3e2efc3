"""Checks of a server's items: tools with their schemas and results, resources, templates."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array, is_deeper, is_object
from mcp_protogen.pipeline.derive.value_paths import untyped_path
from mcp_protogen.runtime.core.json_pointers import ABSENT, pointer_along
from mcp_protogen.runtime.core.models.base import member_at
from mcp_protogen.runtime.core.schema_validation import checker
from mcp_protogen.servers.inspect.probes import LISTS, listing
from mcp_protogen.servers.inspect.revision_facts import path_in, value_in
from mcp_protogen.servers.inspect.rule_faults import Fault, fault
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript, list_items

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")
_KEYS: Final = {
    "tools/list": "name",
    "prompts/list": "name",
    "resources/list": "uri",
    "resources/templates/list": "uriTemplate",
}
_LITERAL: Final = r"[^\x00-\x20\"'<>\\^`{|}\x7f]"
_VARNAME: Final = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*"
_VARSPEC: Final = rf"{_VARNAME}(?:\*|:[1-9][0-9]{{0,3}})?"
_TEMPLATE: Final = re.compile(rf"(?:{_LITERAL}|\{{[+#./;?&]?{_VARSPEC}(?:,{_VARSPEC})*\}})*")
_DEEP: Final = 60


def unique(transcript: Transcript) -> Iterator[Fault]:
    """Yield items that are listed twice under one name."""
    for method, key in _KEYS.items():
        exchange = transcript.first(method)
        names = Counter(
            item[key] for item in listing(transcript, method) if isinstance(item.get(key), str)
        )
        for name, number in names.items():
            if number > 1 and exchange is not None:
                code = "tool-name-not-unique" if method == "tools/list" else "listed-twice"
                message = f"{name} is listed {number} times"
                yield fault(code, f"{method} {key}", message, exchange, got=name)


def tool_names(transcript: Transcript) -> Iterator[Fault]:
    """Yield tools whose names have unusual characters, or too many."""
    for tool, page, place in list_items(transcript, "tools/list"):
        name = tool.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            message = "the name has other characters than A-Z a-z 0-9 _ - ., or not 1 to 128"
            pointer = f"{place}/name"
            yield fault("tool-name", "Tool.name", message, page, pointer=pointer, got=name)


def schemas(transcript: Transcript) -> Iterator[Fault]:
    """Yield schemas of tools that are not valid JSON Schema."""
    for tool, page, place in list_items(transcript, "tools/list"):
        for path in ("inputSchema", path_in(transcript.revision, "tool_output_schema")):
            steps = untyped_path(path)
            schema = member_at(tool, steps)
            wrong = schema_mistake(schema) if is_object(schema) else ""
            if wrong:
                message = f"{tool.get('name')}: {wrong}"
                pointer = f"{place}{pointer_along(tool, steps)}"
                about: dict[str, Any] = {"pointer": pointer, "got": schema}
                yield fault("tool-schema-invalid", f"Tool.{path}", message, page, **about)


def schema_mistake(schema: dict[str, Any]) -> str:
    """Return the fault of a JSON Schema; empty if it is valid, or of an unknown dialect."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    if is_deeper(schema, _DEEP):
        return f"nested more than {_DEEP} levels deep"
    try:
        dialect = validator_for(schema, default=Draft202012Validator)
    except (AttributeError, TypeError, ValueError):
        return "$schema is not a URI"
    found = sorted(
        dialect(dialect.META_SCHEMA).iter_errors(schema), key=lambda one: list(map(str, one.path))
    )
    if not found:
        return ""
    place = "/".join(map(str, found[0].absolute_path))
    return f"{place or 'the schema'}: {found[0].message:.120}"


def results(transcript: Transcript) -> Iterator[Fault]:
    """Yield results of tools that break the promises of the tool."""
    tools = {str(tool.get("name")): tool for tool in listing(transcript, "tools/list")}
    read, path = partial(value_in, transcript.revision), partial(path_in, transcript.revision)
    for exchange in transcript.all("tools/call"):
        result = exchange.result
        name = exchange.request.get("params", {}).get("name")
        schema = read("tool_output_schema", tools.get(str(name), {}))
        if result is None or read("tool_error", result) is True:
            continue
        if is_object(schema) and not schema_mistake(schema):
            yield from _check_structured(exchange, str(name), schema, transcript.revision)
        has_value = read("tool_structured", result, ABSENT) is not ABSENT
        if has_value and path("tool_content") and not _has_text(read("tool_content", result)):
            message = f"{name}: {path('tool_structured')} without a text block that repeats it"
            item = f"CallToolResult.{path('tool_content')}"
            yield fault("structured-without-text", item, message, exchange)


def _check_structured(
    exchange: Exchange, name: str, schema: dict[str, Any], revision: str
) -> Iterator[Fault]:
    result, path = exchange.result or {}, path_in(revision, "tool_structured")
    item = f"CallToolResult.{path}"
    value = value_in(revision, "tool_structured", result, ABSENT)
    if value is ABSENT:
        if result.get("resultType") in (None, "complete"):
            declared = path_in(revision, "tool_output_schema")
            message = f"{name} has an {declared}, but its result has no {path}"
            yield fault("structured-missing", item, message, exchange)
        return
    try:
        # A pattern that cannot be matched in linear time is not a fault of the result.
        check = checker(schema, "the outputSchema", of_objects=False, report=lambda why: None)
        found = check(value)
    except ValueError:
        return  # such as a reference to another document, which is never followed
    for misfit in found[:1]:
        at = pointer_along(result, untyped_path(path))
        pointer = f"/result{at}{misfit.pointer}"
        message = f"{name}: {misfit.message:.160}"
        yield fault("structured-misfit", item, message, exchange, pointer=pointer)


def _has_text(content: object) -> bool:
    return is_array(content) and any(
        is_object(block) and block.get("type") == "text" for block in content
    )


def addresses(transcript: Transcript) -> Iterator[Fault]:
    """Yield invalid URIs and templates, and icons that no client may load."""
    rows = (
        ("resources/list", "uri", _URI, "resource-uri", "Resource.uri"),
        (
            *("resources/templates/list", "uriTemplate", _TEMPLATE),
            *("uri-template", "ResourceTemplate.uriTemplate"),
        ),
    )
    for method, key, pattern, code, item in rows:
        for entry, page, place in list_items(transcript, method):
            value = entry.get(key)
            if isinstance(value, str) and not pattern.fullmatch(value):
                message = f"{value[:80]!r} is invalid"
                yield fault(code, item, message, page, pointer=f"{place}/{key}", got=value)
    yield from _icons(transcript)


def _icons(transcript: Transcript) -> Iterator[Fault]:
    for method in LISTS:
        for entry, page, place in list_items(transcript, method):
            icons = entry.get("icons")
            for number, icon in enumerate(icons if is_array(icons) else ()):
                source = icon.get("src") if is_object(icon) else None
                fine = isinstance(source, str) and source.startswith(("https:", "data:"))
                if isinstance(source, str) and not fine:
                    about = {"pointer": f"{place}/icons/{number}/src", "got": source}
                    message = "an icon is neither at an https: address nor in a data: URI"
                    yield fault("icon-source", "Icon.src", message, page, **about)


def binary(transcript: Transcript) -> Iterator[Fault]:
    """Yield binary contents that are not Base64."""
    for exchange in transcript.exchanges:
        result = exchange.result or {}
        tool = path_in(transcript.revision, "tool_content")
        for path, key in (("contents", "blob"), (tool, "data")):
            steps = untyped_path(path)
            items = member_at(result, steps)
            for index, block in enumerate(items if is_array(items) else ()):
                data = block.get(key) if is_object(block) else None
                if isinstance(data, str) and not _is_base64(data):
                    message = f"{key} is not Base64"
                    pointer = f"/result{pointer_along(result, steps)}/{index}/{key}"
                    yield fault("binary-not-base64", key, message, exchange, pointer=pointer)


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


CHECKS = (unique, tool_names, schemas, results, addresses, binary)
