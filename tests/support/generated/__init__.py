"""What the tests of `tests/generated` share."""
