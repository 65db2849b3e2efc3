"""Tasks: requests whose work goes on after the answer."""
