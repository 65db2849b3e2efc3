"""Tasks: requests that are worked on after they are answered."""
