"""Types that published schemas lack, as Python targets make them."""

from mcp_protogen.pipeline.emit.layout import target_files
from mcp_protogen.pipeline.package import GeneratedFile
from mcp_protogen.pipeline.target import TargetOptions
from mcp_protogen.pipeline.target_registry import find_target
from support.generated.made_up_schemas import SCHEMAS
from support.generating import without_layout
from support.unit import schemas


def build_module(target: str, path: str) -> GeneratedFile:
    document = schemas.schema()
    document["$defs"] |= SCHEMAS
    (made,) = find_target(target).files((schemas.read(document).ir,), TargetOptions(target))
    with without_layout():
        (file,) = target_files([made._replace(path=path)], target)
    return file
