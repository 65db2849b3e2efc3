"""How much there may be of each thing in `tests/bounds.toml`, and how much there is."""
