"""What the tests of `tests/peers` share."""
