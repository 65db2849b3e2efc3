"""What the tests of `tests/http` share."""
