"""Constants of user interfaces (extension apps, SEP-1865)."""

from typing import Final

APPS: Final = "io.modelcontextprotocol/ui"
"""The extension by its identifier."""
MIME_TYPE: Final = "text/html;profile=mcp-app"
"""The media type of their pages."""
SCHEME: Final = "ui://"
"""What their URIs begin with."""
KEY: Final = "ui"
"""The key of what is said of them in the metadata of tools, resources and contents."""
