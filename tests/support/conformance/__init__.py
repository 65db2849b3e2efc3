"""What the tests of `tests/conformance` share."""
