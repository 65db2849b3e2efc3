"""An engine that keeps what workers share in Redis from 6.2 on, or in Valkey.

A worker has two connections: one for calls, of which those of one turn of the event loop go out
together, and one on which a task waits for letters and changes and renews the lease. So a valid
lease says that this worker hears.

Keys of one session have one hash tag, and so do all keys of workers, and all of tasks:

    mcp:{SESSION}            its record, packed with who has a copy, its owner, and so on; or `-`
                             and who had a copy of a session that was ended
    mcp:{SESSION}:s          sorted set: the names of its streams, by the time when each lapses
    mcp:{SESSION}:e:STREAM   list: what is known of the stream, packed, and then its events
    mcp:{tasks}              sorted set: the tasks with a lease, by the time when they are overdue
    mcp:{tasks}:TASK         hash: a task: its record, version and owner
    mcp:{tasks}:of:OWNER     sorted set: the tasks of an owner
    mcp:{workers}:lease:W    there is one while worker W counts as alive
    mcp:{workers}:box:W      stream: letters to W
    mcp:{workers}:bus        stream: changes

A list has a tenth of the size of a short stream. Entries of both kinds of streams are numbered
without gaps, from the time when the stream was made: a reader sees whether some are missing, or the
stream was made anew.
"""
