"""Meetings of a server as several clients would have them, and what of the specification it breaks.

A plan says what is sent. What passes is recorded. Rules judge the record, and nothing else.
"""
