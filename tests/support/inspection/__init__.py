"""What tests of inspections share."""
