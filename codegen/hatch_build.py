"""Build hook: put `templates/` and `schema/` into the package of a wheel, with an SBOM.

`.dist-info/sboms/` (PEP 770) lists third-party content of the wheel: the snapshots of the published
schemas, with the commits and digests of their files. Dependencies are not listed, because scanners
would count them as installed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# From the file LICENSE of each repository; other licences are unknown.
LICENCES: Final = {
    "https://github.com/modelcontextprotocol/modelcontextprotocol": "Apache-2.0 AND MIT",
    "https://github.com/modelcontextprotocol/ext-tasks": "Apache-2.0",
}


class DataFolders(BuildHookInterface):
    """The hook. Only standard wheels need it: editable installs use the folders of the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"] |= {
                "templates": "mcp_protogen/templates",
                **{
                    f"schema/{path.name}": f"mcp_protogen/schema/{path.name}"
                    for path in Path(self.root, "schema").iterdir()
                    if path.name != "rehearsals"
                },
            }
            self.temporary = Path(mkdtemp())
            place = self.temporary / "mcp-protogen.cdx.json"
            content = contents(self.metadata.version, Path(self.root, "schema"))
            place.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            build_data["sbom_files"].append(str(place))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "standard":
            rmtree(self.temporary)


def contents(version: str, schema: Path) -> dict[str, Any]:
    """Return the contents of a wheel of this version as a CycloneDX 1.6 document."""
    components = [
        *components_of(schema / "pins.json"),
        *components_of(schema / "extensions" / "pins.json"),
    ]
    ours = component("mcp-protogen", version, "library", "Apache-2.0")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours | {"purl": f"pkg:pypi/mcp-protogen@{version}"}},
        "components": components,
    }


def components_of(pins: Path) -> Iterator[dict[str, Any]]:
    """Yield a component for each pin in a file, with the digest of the published file."""
    document = json.loads(pins.read_bytes())
    for kind in ("revisions", "extensions"):
        for name, pin in document.get(kind, {}).items():
            repository, commit = pin["repository"], pin["spec_commit"]
            licence = LICENCES.get(repository, "")
            yield component(f"schema of {name}", commit or pin["date"], "data", licence) | {
                "externalReferences": [
                    {
                        "type": "vcs",
                        "url": repository,
                        "comment": pin["spec_path"],
                        "hashes": [{"alg": "SHA-256", "content": pin["sha256"]}],
                    }
                ]
            }


def component(name: str, version: str, kind: str, licence: str) -> dict[str, Any]:
    """Return a component of CycloneDX; `licence` is an SPDX expression, or empty."""
    said = {"licenses": [{"expression": licence}]} if licence else {}
    return {"type": kind, "bom-ref": f"{name}@{version}", "name": name, "version": version} | said
