"""Run `mcp-gen` as `python -m mcp_protogen`."""

from mcp_protogen.cli import main

main()
