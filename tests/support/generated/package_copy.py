"""The package with a copy of the runtime, as users generate it: made once in a run.

The committed package imports the runtime of this checkout; other processes run this copy.
"""

import os
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.output.lock import lock_file, lock_of
from mcp_protogen.pipeline.parts import PARTS
from support.generated.golden_package import EXTENSIONS, PACKAGE, REVISIONS
from support.generating import write_files
from support.made_once import generated_once, once

OPTIONS: Final = GenerationOptions(
    REVISIONS, parts=tuple(sorted(PARTS)), extensions=dict(EXTENSIONS)
)
"""All revisions, parts and extensions."""


@cache
def copy_folder() -> Path:
    """Return the folder of the copy, which has the name of the committed package."""

    def make() -> str:
        folder, package = Path(os.environ["MADE_ONCE"]) / "copy", generated_once(OPTIONS)
        lock = lock_file(lock_of(package, {}))
        write_files((*package.files, lock), folder / PACKAGE.name)
        return str(folder)

    return Path(once("the copied package", make))


def copied_package() -> Path:
    return copy_folder() / PACKAGE.name
