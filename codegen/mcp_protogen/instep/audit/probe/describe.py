"""A description of the types and constants of an SDK, as one JSON document.

The job: `path` (folders to import from), `modules`, `methods` (to look for among its constants),
`messages` (the names of message classes).
"""

import importlib.metadata
import json
import os
import platform
import re
import sys
from typing import Any

from .catalogue import ModelCatalogue
from .constants import constants, find_methods, tables
from .importing import import_sdk, message_packages, take

FORMAT = 1


def main(job: dict[str, Any], channel: int) -> None:
    """Write the description of the SDK that `job` names to `channel`."""
    found = import_sdk(job)
    document: dict[str, Any] = {"format": FORMAT, "skipped": found.skipped}
    if found.modules:
        catalogue = ModelCatalogue(found.modules)
        through = message_packages(catalogue.types, found, job)
        if through:
            take(through, found)
            catalogue = ModelCatalogue(found.modules)
        document |= {
            "through": through,
            "name": _name(found.modules[0].__name__),
            "python": platform.python_version(),
            "modules": [module.__name__ for module in found.modules],
            "types": catalogue.types,
            "constants": constants(found.modules),
            "methods": find_methods(found.modules, job["methods"]),
            "tables": tables(found.modules, job["methods"]),
            "pydantic": getattr(sys.modules.get("pydantic"), "VERSION", ""),
        }
    with os.fdopen(channel, "w", encoding="utf-8") as out:
        json.dump(document, out, default=repr)


def _name(module: str) -> str:
    """Return the distribution of a module with its version, or the module's name."""
    top = module.split(".")[0]
    # packages_distributions reads all names of all distributions: half the time of a description.
    named = re.compile(rf"^{re.escape(top)}([/.]|$)", re.MULTILINE)
    package = sys.modules[top]
    paths = getattr(package, "__path__", [getattr(package, "__file__", "")])
    beside = {os.path.dirname(path) for path in paths}
    for found in importlib.metadata.distributions():
        # RECORD, which is long, lists what is beside it.
        files = ("top_level.txt", "RECORD")[: 1 + (str(found.locate_file("")) in beside)]
        if any(named.search(found.read_text(file) or "") for file in files):
            return f"{found.metadata['Name']} {found.version}"
    try:
        return f"{top} {importlib.metadata.version(top)}"
    except importlib.metadata.PackageNotFoundError:
        return module
