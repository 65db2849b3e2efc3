"""What the tests of `tests/compare` share."""
