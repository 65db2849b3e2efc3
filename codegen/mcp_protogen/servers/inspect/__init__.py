"""Inspection of a server: sessions as various clients would hold them, and the broken rules.

A plan has the messages to send. All messages are recorded. Rules judge only the record.
"""
