"""Transports: moving messages between processes, and within one."""
