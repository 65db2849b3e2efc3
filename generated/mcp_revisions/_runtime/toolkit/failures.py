"""Exceptions that functions of a toolkit raise; the client gets to see their text."""


class ToolError(Exception):
    """A failure that the model should know of: its text becomes the result of the tool.

    The text of any other exception goes to the log only, because it may hold secrets.
    """


class ResourceNotFound(Exception):
    """The requested resource does not exist; for functions of resource templates."""
