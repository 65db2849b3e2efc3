"""Servers that publish folders of skills."""
