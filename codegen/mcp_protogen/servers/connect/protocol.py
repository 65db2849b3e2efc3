"""The generated package that the commands use: all revisions, parts and extensions.

The generator makes it, and must run without it. So only this module imports it, for commands that
connect to servers.
"""

from logging import ERROR, getLogger
from types import ModuleType

from mcp_protogen.base.problems import Problem, ProblemError

_HINT = "reinstall mcp-gen; in a checkout of it: make golden"


def protocol() -> ModuleType:
    """Return the package; raise `ProblemError` (`broken-installation`) if it cannot be imported."""
    try:
        import mcp_revisions

        from mcp_protogen.runtime.core.revision import Revision

        package: ModuleType = mcp_revisions
        if getattr(package, "Revision", None) is not Revision:
            # Another package has the same name.
            raise ImportError(f"{mcp_revisions.__file__} has another runtime")
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        message = f"mcp_revisions, a part of mcp-gen, cannot be imported: {why}"
        raise ProblemError(Problem("broken-installation", message, hint=_HINT)) from error
    # Commands show losses in their own format.
    getLogger("mcp_protogen.runtime.core.losses").setLevel(ERROR)
    return package
