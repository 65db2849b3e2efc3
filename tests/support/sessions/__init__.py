"""What the tests of `tests/sessions` share."""
