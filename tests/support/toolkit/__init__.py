"""What the tests of `tests/toolkit` share."""
