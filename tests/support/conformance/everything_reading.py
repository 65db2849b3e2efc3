"""The readable fixtures: resources, a template, prompts, and completions for them."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from mcp_revisions import McpError
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m

from support.conformance.everything_content import IMAGE, PNG, embed_text, text
from support.conformance.everything_questions import form
from support.conformance.everything_toolbox import INVALID_PARAMS
from support.sessions.talking import entry

Contents: TypeAlias = m.TextResourceContents | m.BlobResourceContents
Arguments: TypeAlias = Mapping[str, str]
Filled: TypeAlias = Callable[[mcp.Session, Arguments], Awaitable[m.ContentBlock]]

_CONTENTS: Final[Mapping[str, Contents]] = {
    "test://static-text": m.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="A text that never changes."
    ),
    "test://static-binary": m.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG
    ),
    "test://watched-resource": m.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="A text worth watching."
    ),
}

RESOURCES: Final = [
    m.Resource(
        uri=uri,
        name=uri.removeprefix("test://"),
        description="One of the resources to test with.",
        mime_type=contents.mime_type,
    )
    for uri, contents in _CONTENTS.items()
]

TEMPLATES: Final = [
    m.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="Data by id.",
        mime_type="application/json",
    )
]

_TEMPLATE: Final = re.compile(r"test://template/([^/]+)/data")


def read(uri: str) -> Contents:
    """The contents of a resource, or of one that the template describes."""
    if uri in _CONTENTS:
        return _CONTENTS[uri]
    found = _TEMPLATE.fullmatch(uri)
    if found is None:
        raise McpError(INVALID_PARAMS, "Resource not found", {"uri": uri})
    data = f'{{"id": "{found[1]}"}}'
    return m.TextResourceContents(uri=uri, mime_type="application/json", text=data)


async def _simple(session: mcp.Session, arguments: Arguments) -> m.ContentBlock:
    return text("This is a simple prompt.")


async def _with_arguments(session: mcp.Session, arguments: Arguments) -> m.ContentBlock:
    return text(f"First {arguments['arg1']}, then {arguments['arg2']}.")


async def _with_embedded_resource(session: mcp.Session, arguments: Arguments) -> m.ContentBlock:
    return embed_text(arguments["resourceUri"], "What is embedded in a prompt.")


async def _with_image(session: mcp.Session, arguments: Arguments) -> m.ContentBlock:
    return IMAGE


async def _asking(session: mcp.Session, arguments: Arguments) -> m.ContentBlock:
    answer = await session.request(
        entry(session, "elicitation/create"), form("What is this about?", context=m.StringSchema())
    )
    return text(f"About this: {answer.content or {}}")


def _prompt(name: str, description: str, *required: str) -> m.Prompt:
    arguments = [m.PromptArgument(name=argument_name, required=True) for argument_name in required]
    return m.Prompt(name=name, description=description, arguments=arguments or None)


_PROMPTS: Final[Mapping[str, tuple[m.Prompt, Filled]]] = {
    prompt.name: (prompt, filled)
    for prompt, filled in (
        (_prompt("test_simple_prompt", "Says one thing."), _simple),
        (
            _prompt("test_prompt_with_arguments", "Says two things.", "arg1", "arg2"),
            _with_arguments,
        ),
        (
            _prompt("test_prompt_with_embedded_resource", "Holds a resource.", "resourceUri"),
            _with_embedded_resource,
        ),
        (_prompt("test_prompt_with_image", "Shows a picture."), _with_image),
        (_prompt("test_input_required_result_prompt", "Asks what it is about."), _asking),
    )
}

PROMPTS: Final = [prompt for prompt, _ in _PROMPTS.values()]


async def fill_in(session: mcp.Session, name: str, arguments: Arguments) -> m.GetPromptResult:
    """The messages of a prompt."""
    if name not in _PROMPTS:
        raise McpError(INVALID_PARAMS, f"Unknown prompt: {name}")
    prompt, filled = _PROMPTS[name]
    missing = [
        argument.name for argument in prompt.arguments or () if argument.name not in arguments
    ]
    if missing:
        raise McpError(INVALID_PARAMS, f"Missing arguments: {', '.join(missing)}")
    content = await filled(session, arguments)
    return m.GetPromptResult(messages=[m.PromptMessage(role="user", content=content)])


def proposals(begun: str) -> list[str]:
    """Return the completions for the beginning of an argument."""
    return [word for word in ("paris", "park", "test", "testing") if word.startswith(begun)]
