"""`python -m mcp_protogen` is `mcp-gen`."""

from mcp_protogen.cli import main

main()
