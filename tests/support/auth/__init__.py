"""What the tests of `tests/auth` share."""
