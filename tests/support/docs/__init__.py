"""What the tests of `tests/docs` share."""
