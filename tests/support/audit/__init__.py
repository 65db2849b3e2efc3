"""What the tests of `tests/audit` share."""
