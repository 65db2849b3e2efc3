"""What the tests of `tests/runtime` share."""
