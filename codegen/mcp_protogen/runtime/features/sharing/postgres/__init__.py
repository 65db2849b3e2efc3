"""An engine in a PostgreSQL database, of version 12 or later, reached with psycopg.

Each call is one statement, and so one transaction and one packet: a worker that is stopped at any
point holds no lock. Sessions, streams and events are ordinary tables. Leases, letters and changes
are unlogged ones: writing them costs no flush, and a database that has crashed, or is a copy of the
one before, has lost them. Then the lease of each worker is gone, too, and it gets a `GAP`.
"""
