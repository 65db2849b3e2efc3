"""Calls of servers by people: arguments as words, questions on a terminal, results as pages."""
