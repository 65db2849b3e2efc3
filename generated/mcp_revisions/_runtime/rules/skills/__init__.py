"""What entries of skills and their files have to be."""
