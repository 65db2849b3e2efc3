"""Values of tasks as both forms write them."""

from datetime import UTC, datetime


def iso(seconds: float) -> str:
    """Return a time in seconds since the epoch in ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
