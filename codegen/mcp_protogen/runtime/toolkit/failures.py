"""What functions raise to say what went wrong, in words that a client gets to see."""


class ToolError(Exception):
    """A tool failed in a way that the model should hear of: the text is the tool's result.

    The text of any other exception stays in the log, because it may hold secrets.
    """


class ResourceNotFound(Exception):
    """There is no such resource: what a template's function finds nothing for."""
