"""The content of the fixtures: a tiny picture, a tiny sound, and a resource."""

from typing import Final

from mcp_revisions.v2026_07_28 import models as m

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""One pixel, in Base64."""

WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
"""Silence without any samples, in Base64."""

IMAGE: Final = m.ImageContent(data=PNG, mime_type="image/png")
AUDIO: Final = m.AudioContent(data=WAV, mime_type="audio/wav")


def text(words: str) -> m.TextContent:
    return m.TextContent(text=words)


def embed_text(uri: str, words: str) -> m.EmbeddedResource:
    """A block that contains a resource of text."""
    return m.EmbeddedResource(
        resource=m.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    )
