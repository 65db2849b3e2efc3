"""Optional libraries, imported when needed."""

from importlib import import_module
from typing import Any


def library(module: str, user: str, install: str = "") -> Any:
    """Return a module of an optional library; raise `ImportError` with an install command.

    `user` is the feature that needs it, `install` its name for pip if that differs. The import is
    by name so that type checkers pass without the library.
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        # An installed library that fails to import is reported as the cause.
        cause = None if isinstance(error, ModuleNotFoundError) else error
        message = f"{user} needs the package {name}: pip install {install or name}"
        raise ImportError(message) from cause
