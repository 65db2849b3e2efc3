"""What tests of skills share."""
