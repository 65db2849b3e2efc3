"""What the tests of `tests/scaffold` share."""
