"""Inspection of a server: connections as of various clients, and the broken rules.

Probes send messages, and transcripts record all of them. Rules judge only the transcripts.
"""
