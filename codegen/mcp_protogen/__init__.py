"""mcp-gen: typed Python packages from the published schemas of the Model Context Protocol."""

__version__ = "0.1.0"
