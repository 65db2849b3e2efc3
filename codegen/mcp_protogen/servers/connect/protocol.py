"""The generated package with which the commands speak: all revisions, parts and extensions.

The generator makes it, and has to run where it is absent or broken. So it is imported only in here,
by the commands that meet servers.
"""

from logging import ERROR, getLogger
from types import ModuleType

from mcp_protogen.base.problems import Problem, ProblemError

_HINT = "install mcp-gen anew; in a checkout of it: make golden"


def protocol() -> ModuleType:
    """Return the package; raise `ProblemError` (`broken-installation`) if it cannot be imported."""
    try:
        import mcp_revisions

        from mcp_protogen.runtime.core.revision import Revision

        package: ModuleType = mcp_revisions
        if getattr(package, "Revision", None) is not Revision:
            # Somebody has given a package of theirs the same name.
            raise ImportError(f"{mcp_revisions.__file__} has another runtime")
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        message = f"mcp_revisions, which mcp-gen speaks with, cannot be imported: {why}"
        raise ProblemError(Problem("broken-installation", message, hint=_HINT)) from error
    # Commands show what is lost in a form of their own.
    getLogger("mcp_protogen.runtime.core.losses").setLevel(ERROR)
    return package
