"""Suggestions of the name that was probably meant."""

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the known names nearest to `name`.

    If none is near, return `otherwise`, or a list of all.
    """
    from difflib import get_close_matches  # only needed on the way to an error

    names = sorted(known)
    if near := get_close_matches(name, names, n=2, cutoff=0.5):
        return f"did you mean {' or '.join(near)}?"
    return otherwise or (f"known: {', '.join(names)}" if names else "")
