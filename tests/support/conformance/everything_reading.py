"""The readable fixtures: resources, a template, prompts, and completions for them."""

from base64 import b64decode
from typing import Final

from mcp_revisions import Toolkit, prompt, resource
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from support.conformance.everything_questions import elicit, form

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""One pixel, in Base64."""

WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
"""Silence without any samples, in Base64."""

IMAGE: Final = m.ImageContent(data=PNG, mime_type="image/png")
AUDIO: Final = m.AudioContent(data=WAV, mime_type="audio/wav")


def embed_text(uri: str, words: str) -> m.EmbeddedResource:
    """A block that contains a resource of text."""
    return m.EmbeddedResource(
        resource=m.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    )


WORDS: Final = ("paris", "park", "test", "testing")
"""The proposals for the beginning of an argument."""


def say(content: m.ContentBlock) -> list[m.PromptMessage]:
    return [m.PromptMessage(role="user", content=content)]


class Reading(Toolkit):
    """Resources and prompts."""

    @resource("test://static-text", mime_type="text/plain")
    def static_text(self) -> str:
        """Never change."""
        return "A text that never changes."

    @resource("test://static-binary", mime_type="image/png")
    def static_binary(self) -> bytes:
        """Be a picture."""
        return b64decode(PNG)

    @resource("test://watched-resource", mime_type="text/plain")
    def watched_resource(self) -> str:
        """Be worth watching."""
        return "A text worth watching."

    @resource("test://template/{id}/data", mime_type="application/json", completions={"id": WORDS})
    def template(self, id: str) -> str:
        """Return data by id."""
        return f'{{"id": "{id}"}}'

    @prompt
    def test_simple_prompt(self) -> str:
        """Say one thing."""
        return "This is a simple prompt."

    @prompt(completions={"arg1": WORDS, "arg2": WORDS})
    def test_prompt_with_arguments(self, arg1: str, arg2: str) -> str:
        """Say two things."""
        return f"First {arg1}, then {arg2}."

    @prompt
    def test_prompt_with_embedded_resource(self, resourceUri: str) -> list[m.PromptMessage]:
        """Hold a resource."""
        return say(embed_text(resourceUri, "What is embedded in a prompt."))

    @prompt
    def test_prompt_with_image(self) -> list[m.PromptMessage]:
        """Show a picture."""
        return say(IMAGE)

    @prompt
    async def test_input_required_result_prompt(self, session: mcp.Session) -> str:
        """Ask what it is about."""
        asked = form("What is this about?", context=m.StringSchema())
        return f"About this: {await elicit(session, asked)}"
