"""What one revision says, in the words of another."""
