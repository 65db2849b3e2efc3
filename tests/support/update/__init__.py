"""What the tests of `tests/update` share."""
