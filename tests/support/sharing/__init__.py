"""What the tests of `tests/sharing` share."""
