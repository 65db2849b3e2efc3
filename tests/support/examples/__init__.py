"""The servers of `examples/`."""
