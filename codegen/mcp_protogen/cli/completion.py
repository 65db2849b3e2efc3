"""Names for the completion of a shell."""

from mcp_protogen.pipeline.parts import ALL, NONE, PARTS
from mcp_protogen.pipeline.target import LAYERS


def revision(incomplete: str) -> list[str]:
    """Return the revisions that a word may become, or all of them."""
    from mcp_protogen.pipeline.inputs.pins import load_pins

    return _matching(incomplete, *load_pins(), ALL)


def part(incomplete: str) -> list[str]:
    """Return the parts of a package that a word may become."""
    return _matching(incomplete, *PARTS, ALL, NONE)


def extension(incomplete: str) -> list[str]:
    """Return the extensions that a word may become, or all of them, or none."""
    return _matching(incomplete, *_extensions(), ALL, NONE)


def single_extension(incomplete: str) -> list[str]:
    """Return the extensions that a word may become, for options that take a single one."""
    return _matching(incomplete, *_extensions())


def template(incomplete: str) -> list[str]:
    """Return the templates that a word may become."""
    from mcp_protogen.pipeline.emit.template_contract import NAMES

    return _matching(incomplete, *NAMES)


def layer(incomplete: str) -> list[str]:
    """Return the layers that a word may become."""
    return _matching(incomplete, *LAYERS)


def target(incomplete: str) -> list[str]:
    """Return the installed targets that a word may become."""
    from mcp_protogen.pipeline.target_registry import target_names

    return _matching(incomplete, *target_names())


def transport(incomplete: str) -> list[str]:
    """Return the transports that a word may become."""
    from mcp_protogen.servers.connect.protocol import protocol

    tables = protocol().__mcp_transports__
    return _matching(incomplete, *tables["program"], *tables["url"])


def side(incomplete: str) -> list[str]:
    """Return the revisions and extensions that a word may become."""
    from mcp_protogen.pipeline.inputs.pins import load_pins

    return _matching(incomplete, *load_pins(), *_extensions())


def _extensions() -> list[str]:
    from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names

    return extension_names()


def _matching(incomplete: str, *names: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
