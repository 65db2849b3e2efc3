"""An engine in a PostgreSQL database, version 12 or later, by psycopg.

Each call is one statement, so one transaction and one packet: a stopped worker holds no lock.
Sessions, streams, events and tasks are ordinary tables. Leases, messages and changes are unlogged:
writing them needs no flush, and a crash or a failover loses them. That also loses the lease of each
worker, which then gets a `GAP`.
"""
