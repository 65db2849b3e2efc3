"""Look for the probes of all patches, and record them: `python -m website.explorer.probes`."""

from mcp_protogen.base.canonical import pretty

from website.explorer.findings import PROBES, all_probes

if __name__ == "__main__":
    PROBES.write_bytes(pretty(dict(all_probes())))
