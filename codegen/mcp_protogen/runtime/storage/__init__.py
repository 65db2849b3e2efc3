"""What a server keeps: the interfaces of an engine, one in memory, and stores of tasks."""
