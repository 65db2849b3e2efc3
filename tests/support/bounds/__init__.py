"""The bounds of `tests/bounds.toml`, and the measured values."""
