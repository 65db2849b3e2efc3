"""mcp-gen: typed Python packages from the published schemas of the Model Context Protocol."""

from mcp_protogen.runtime import __version__ as __version__
