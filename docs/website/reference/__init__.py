"""The reference: public names with their docstrings, commands, codes and settings."""
