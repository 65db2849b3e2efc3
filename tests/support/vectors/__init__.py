"""What the tests of `tests/vectors` share."""
