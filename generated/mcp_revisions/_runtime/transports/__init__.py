"""Transports: what moves messages between processes, and within one."""
