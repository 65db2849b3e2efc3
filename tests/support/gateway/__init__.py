"""What the tests of `tests/gateway` share."""
