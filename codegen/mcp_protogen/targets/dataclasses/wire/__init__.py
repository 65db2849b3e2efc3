"""What is copied beside generated dataclasses: it reads and writes them, as one module."""
