"""State machines and decisions, drawn from the tables of the code."""
