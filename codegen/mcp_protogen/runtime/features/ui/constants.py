"""Constants of user interfaces (extension apps, SEP-1865)."""

from typing import Final

APPS: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"
KEY: Final = "ui"
"""The metadata key in tools, resources and contents."""
