"""Constants of user interfaces (extension apps, SEP-1865)."""

from typing import Final

APPS: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"
KEY: Final = "ui"
"""The key of what is said of them in the metadata of tools, resources and contents."""
