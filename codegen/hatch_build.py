"""Build hook: put `templates/` and `schema/` inside the package of a wheel."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DataFolders(BuildHookInterface):
    """An editable install finds both folders in the checkout, so only standard wheels map them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"] |= {
                "templates": "mcp_protogen/templates",
                "schema": "mcp_protogen/schema",
            }
