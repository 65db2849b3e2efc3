"""Generated modules list each name once."""

import ast

from mcp_protogen.pipeline.parts import PARTS, PartSelection
from support import tables
from support.folders import GENERATED
from support.generated.repeated_names import repeated_names


def test_generated_modules_list_each_name_once() -> None:
    for path in sorted(GENERATED.rglob("*.py")):
        with tables.case(path.relative_to(GENERATED)):
            assert repeated_names(ast.parse(path.read_text())) == []


def test_every_selection_exports_each_name_once() -> None:
    for parts in (*((part,) for part in PARTS), tuple(PARTS)):
        with tables.case(parts):
            exported = [name for _, names in PartSelection(parts).exports for name in names]
            assert len(exported) == len({*exported})
