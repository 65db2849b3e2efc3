"""Libraries that a program need not have, imported when something needs them."""

from importlib import import_module
from typing import Any


def library(module: str, user: str, install: str = "") -> Any:
    """Return a module of a library; raise `ImportError`, which says what to do, without it.

    `user` is what needs it, and `install` what pip calls it, if that is another name. It is
    imported by name, so that type checkers do not report a library that is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        # A library that is there, and cannot be imported, has a reason of its own.
        cause = None if isinstance(error, ModuleNotFoundError) else error
        message = f"{user} needs the package {name}: pip install {install or name}"
        raise ImportError(message) from cause
