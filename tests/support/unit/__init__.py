"""What the tests of `tests/unit` share."""
