"""Test vectors: right and wrong messages, each for one reason, and what others do with them."""
