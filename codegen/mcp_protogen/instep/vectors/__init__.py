"""Test vectors: valid and invalid messages, each for one reason, to test implementations with."""
