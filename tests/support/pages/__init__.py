"""What the tests of `tests/pages` share."""
