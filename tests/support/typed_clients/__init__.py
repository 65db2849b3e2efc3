"""What tests of typed clients share."""
