"""An engine in Redis, version 6.2 or later, or in Valkey.

A worker has two connections: one for calls, sent together per iteration of the event loop, and one
on which a task waits for messages and changes, and renews the lease. So a valid lease means that
this worker receives.

All keys of one session share a hash tag; so do all keys of workers, and of tasks:

        mcp:{SESSION}            its record, workers with a copy, owner and so on, packed; or, if it
                                 has ended, `-` and the workers with a copy
        mcp:{SESSION}:s          sorted set: the names of its streams, by expiry
        mcp:{SESSION}:e:STREAM   list: the state of the stream, packed, and then its events
        mcp:{SESSION}:n:STREAM   number of its last event, after its follower was to be told
        mcp:{tasks}              sorted set: the leased tasks, by due time
        mcp:{tasks}:TASK         hash: record, version and owner of a task
        mcp:{tasks}:of:OWNER     sorted set: the tasks of an owner
        mcp:{workers}:lease:W    exists while worker W is alive
        mcp:{workers}:box:W      stream: messages to W
        mcp:{workers}:bus        stream: changes

A list takes a tenth of the memory of a short stream. Entries of the streams have consecutive
numbers, starting from the time of their creation: a reader notices missing entries, and a new
stream.
"""
