"""An engine that keeps what workers share in Redis from 6.2 on, or in Valkey.

A worker has two connections, however many sessions it has: one for calls, of which those that are
made in one turn of the event loop go out together, and one on which a task waits for letters and
changes and renews the lease. So a lease that is good says that this worker hears.

Keys of one session have one hash tag, and so do all keys of workers:

    mcp:{SESSION}            its record, packed with who has a copy, its owner, and so on; or `-`
                             and who had a copy of a session that was ended
    mcp:{SESSION}:s          sorted set: the names of its streams, by the time when each lapses
    mcp:{SESSION}:e:STREAM   list: what is known of the stream, packed, and then its events
    mcp:{workers}:lease:W    there is one while worker W counts as alive
    mcp:{workers}:box:W      stream: letters to W
    mcp:{workers}:bus        stream: changes

A list has a tenth of the size of a stream that has few entries. Entries of the two kinds of streams
are numbered without gaps, from the time at which the stream was made: who reads them sees whether
some are missing, or whether the stream was made anew.

redis-py is imported when an engine is made: programs without it need not have it.
"""

import asyncio
from asyncio import Future, Task, create_task, get_running_loop
from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from hashlib import sha1
from importlib import import_module
from logging import getLogger
from math import ceil, inf
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from .engine import (
    GAP,
    Appended,
    Change,
    EngineUnavailable,
    Event,
    Events,
    Letter,
    Receive,
    Saved,
    StoredSession,
)
from .lease import Lease, now

_log: Final = getLogger(__name__)

_Argument: TypeAlias = str | bytes | int
_Connection: TypeAlias = Any
"""A `redis.asyncio.connection.Connection`."""

# The most entries of a box and of the bus: who is further behind has missed some.
_MOST_LETTERS: Final = 10_000
# The most entries that are read in one go; and about the most bytes of events, for which the calls
# of others wait.
_MOST_AT_ONCE: Final = 200
_MOST_BYTES: Final = 1024 * 1024
# Seconds that boxes and the bus stay when nobody renews a lease, at least.
_QUIET: Final = 3600.0
# The longest pause between attempts to connect, in seconds; and the first.
_LONGEST_PAUSE: Final = 1.0
_FIRST_PAUSE: Final = 0.05
# When so many workers more have a copy of a session, it is seen which of them are gone.
_COPIES: Final = 8
# The last part of the last id of an entry with a number.
_LAST: Final = 2**64 - 1
# Sessions that are refreshed in one call.
_REFRESHED: Final = 500
# The most calls that go out together: if a server is busy with more, it may seem to be away.
_TOGETHER: Final = 200


def _redis(module: str) -> Any:
    """Return a module of redis-py; raise `ImportError`, which says what to do, without it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError("RedisEngine needs the package redis: pip install redis") from None


class RedisEngine:
    """An engine in Redis or Valkey, at a URL as redis-py has it: redis, rediss (TLS) or unix.

    All keys begin with `namespace`: endpoints of different servers have different ones. A call
    that takes longer than `timeout` seconds fails. Of each stream about `max_events` are kept.
    """

    def __init__(
        self, url: str, *, namespace: str = "mcp", timeout: float = 2.0, max_events: int = 1000
    ) -> None:
        if not namespace or not {"{", "}"}.isdisjoint(namespace):
            raise ValueError("namespace has to be some text without braces")
        if timeout <= 0 or max_events < 1:
            raise ValueError("timeout and max_events have to be more than 0")
        parts = urlsplit(url)
        if parts.fragment or "@" in parts.path:
            raise ValueError("a password in url has to be percent-encoded")
        self._url = url
        self.namespace: Final = namespace
        self.timeout: Final = timeout
        self.max_events: Final = max_events
        self.make_connection()

    def __repr__(self) -> str:
        # Neither a password nor options, among which there may be one.
        parts = urlsplit(self._url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"RedisEngine({place!r}, namespace={self.namespace!r})"

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> "AbstractAsyncContextManager[RedisConnection]":
        return RedisConnection(self, worker, Lease(lease), receive).entered()

    def make_connection(self) -> _Connection:
        """Return a connection of redis-py that is not open yet."""
        module = _redis("redis.asyncio.connection")
        # What fails is said, and not done again unseen; replies are raw, and of one form.
        ours: dict[str, Any] = {"retry_on_timeout": False, "socket_timeout": None}
        ours |= {"health_check_interval": 0, "decode_responses": False, "protocol": 2}
        # A name that somebody made up may be no text.
        ours |= {"socket_connect_timeout": self.timeout, "encoding_errors": "surrogatepass"}
        try:
            options = module.parse_url(self._url) | ours
            return options.pop("connection_class", module.Connection)(**options)
        except (TypeError, ValueError):
            # What was wrong may be a part of the password.
            message = "url is none of redis://, rediss:// or unix:// with options that redis-py has"
            raise ValueError(message) from None


class _Script(NamedTuple):
    text: bytes
    digest: str


_scripts: Final = list[_Script]()


# What every script may call. The first key is the session, or the first box.
_COMMON: Final = """
local function place(list, one)
  for i, other in ipairs(list) do if other == one then return i end end
end
local function add(list, one)
  if place(list, one) then return false end
  table.insert(list, one)
  return true
end
local function session()
  local kept = redis.call('GET', KEYS[1])
  if not kept or string.sub(kept, 1, 1) == '-' then return end
  local s = cmsgpack.unpack(kept)
  -- What is no list fails here.
  ipairs(s.copies)
  return s
end
local function copied(s, worker)
  s.opened = s.opened + 1
  return add(s.copies, worker)
end
local function keep(s)
  redis.call('SET', KEYS[1], cmsgpack.pack(s), 'KEEPTTL')
end
local function known(s)
  return {tostring(s.record), s.version + 0, tostring(s.owner), s.epoch + 0, s.delivered + 0}
end
local function stream(name)
  return KEYS[1] .. ':e:' .. name
end
local function list_of_streams()
  return KEYS[1] .. ':s'
end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function lists(name, lapses, lifetime)
  local names = list_of_streams()
  redis.call('ZADD', names, lapses, name)
  if redis.call('PTTL', names) < tonumber(lifetime) then redis.call('PEXPIRE', names, lifetime) end
end
local function last(box)
  local entry = redis.call('XREVRANGE', box, '+', '-', 'COUNT', 1)[1]
  return entry and tonumber(string.match(entry[1], '^%d+'))
end
local function put(box, field, content, most, quiet)
  local before = last(box)
  local number = string.format('%.0f', before and before + 1 or now())
  redis.call('XADD', box, 'MAXLEN', '~', most, number .. '-0', field, content)
  if not before then redis.call('PEXPIRE', box, quiet) end
end
"""


def _script(body: str) -> _Script:
    text = (_COMMON + body).encode()
    script = _Script(text, sha1(text, usedforsecurity=False).hexdigest())
    _scripts.append(script)
    return script


# ARGV: worker, after how many new copies all of them are returned
_OPEN: Final = _script("""
local s = session()
if not s then return false end
local found = known(s)
found[6] = copied(s, ARGV[1]) and #s.copies % ARGV[2] == 0 and s.copies or {}
found[7] = s.opened
keep(s)
return found
""")

# ARGV: worker, record, version, milliseconds
_SAVE: Final = _script("""
local version, s = tonumber(ARGV[3]), nil
if version == 0 then
  if redis.call('EXISTS', KEYS[1]) == 1 then return false end
  s = {owner = ARGV[1], epoch = 1, delivered = 0, copies = {}, opened = 0}
else
  s = session()
  if not s or s.version ~= version then return false end
end
s.record, s.version = ARGV[2], version + 1
copied(s, ARGV[1])
redis.call('SET', KEYS[1], cmsgpack.pack(s), 'PX', ARGV[4])
for _, name in ipairs(redis.call('ZRANGEBYSCORE', list_of_streams(), '+inf', '+inf')) do
  redis.call('PEXPIRE', stream(name), ARGV[4])
end
redis.call('PEXPIRE', list_of_streams(), ARGV[4])
return {s.version, s.copies}
""")

# ARGV: milliseconds
_REFRESH: Final = _script("""
if not session() then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
for _, name in ipairs(redis.call('ZRANGEBYSCORE', list_of_streams(), '+inf', '+inf')) do
  redis.call('PEXPIRE', stream(name), ARGV[1])
end
redis.call('PEXPIRE', list_of_streams(), ARGV[1])
return true
""")

# ARGV: worker
_LEAVE: Final = _script("""
local s = session()
if not s then return false end
local at = place(s.copies, ARGV[1])
if at then table.remove(s.copies, at) end
if s.owner == ARGV[1] then s.owner = '' end
keep(s)
return true
""")

# ARGV: after how many times that it was opened, workers that were gone then
_GONE: Final = _script("""
local s = session()
-- One that was gone may have come back and opened it.
if not s or s.opened ~= tonumber(ARGV[1]) then return false end
for i = 2, #ARGV do
  local at = place(s.copies, ARGV[i])
  if at then table.remove(s.copies, at) end
end
keep(s)
return true
""")

# ARGV: milliseconds, whether one that has ended counts
_END: Final = _script("""
local s = session()
if not s then
  local copies = ARGV[2] == '1' and string.match(redis.call('GET', KEYS[1]) or '', '^-(.*)')
  return copies and cmsgpack.unpack(copies) or false
end
for _, name in ipairs(redis.call('ZRANGE', list_of_streams(), 0, -1)) do
  redis.call('UNLINK', stream(name))
end
redis.call('UNLINK', list_of_streams())
redis.call('SET', KEYS[1], '-' .. cmsgpack.pack(s.copies), 'PX', ARGV[1])
return s.copies
""")

# ARGV: worker
_CLAIM: Final = _script("""
local s = session()
if not s then return false end
local before = known(s)
s.owner, s.epoch = ARGV[1], s.epoch + 1
copied(s, ARGV[1])
keep(s)
return before
""")

# ARGV: worker, epoch, delivered
_DELIVER: Final = _script("""
local s = session()
if not s or s.owner ~= ARGV[1] or s.epoch ~= tonumber(ARGV[2]) then return 0 end
local delivered = tonumber(ARGV[3])
if delivered > s.delivered then
  s.delivered = delivered
  keep(s)
end
return 1
""")

# What is known of a stream is the first entry of its list; `last` is -1 before the first event.
_EVENTS: Final = """
local ended = redis.call('GETRANGE', KEYS[1], 0, 0) == '-'
local kept = not ended and redis.call('LINDEX', KEYS[2], 0)
local known = kept and cmsgpack.unpack(kept) or {last = -1, ended = false, followers = {}}
ended = ended or known.ended
ipairs(known.followers)
"""

# ARGV: stream, number, milliseconds, whether it ends, the most events, messages
_APPEND: Final = _script(_EVENTS + """
local number, messages = tonumber(ARGV[2]), #ARGV - 5
local accepted = not ended and (number == known.last + 1 or (known.last < 0 and number == 1))
if accepted then
  if messages > 0 then known.last = number + messages - 1 end
  known.ended = ARGV[4] == '1'
  ended = known.ended
  if not kept then redis.call('RPUSH', KEYS[2], '') end
  for i = 6, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
  local most = tonumber(ARGV[5])
  -- What takes the place of an event is what is known.
  redis.call('LTRIM', KEYS[2], math.max(redis.call('LLEN', KEYS[2]) - 1 - most, 0), -1)
  redis.call('LSET', KEYS[2], 0, cmsgpack.pack(known))
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  local time = math.floor(now() / 1000)
  lists(ARGV[1], ended and time + tonumber(ARGV[3]) or '+inf', ARGV[3])
  if ended then redis.call('ZREMRANGEBYSCORE', list_of_streams(), 0, time) end
end
-- One value is read much faster than a list.
local flags = {accepted and 1 or 0, math.max(known.last, 0), ended and 1 or 0}
return table.concat(flags, '\\0') .. '\\0' .. table.concat(known.followers, '\\0')
""")

# ARGV: after, the most events, the most bytes
_READ: Final = _script(_EVENTS + """
local after, at_end = tonumber(ARGV[1]), ended and 1 or 0
local newest = math.max(known.last, 0)
if after > newest then return false end
if after == newest or known.last < 0 then return {at_end, 0, {}, 0} end
local first = known.last - redis.call('LLEN', KEYS[2]) + 2
local from = math.max(after + 1, first)
if first > math.max(after + 1, 1) or from > known.last then return false end
local place = from - first + 1
local found, bytes = redis.call('LRANGE', KEYS[2], place, place + ARGV[2] - 1), 0
for i, message in ipairs(found) do
  bytes = bytes + #message
  if bytes > tonumber(ARGV[3]) and i > 1 then
    found = {unpack(found, 1, i - 1)}
    break
  end
end
return {at_end, from, found, known.last}
""")

# ARGV: stream, milliseconds, worker
_FOLLOW: Final = _script(_EVENTS + """
if ended then return false end
add(known.followers, ARGV[3])
-- Those of workers that are gone; one that is not looks by itself, too.
if #known.followers > 16 then table.remove(known.followers, 1) end
if kept then
  redis.call('LSET', KEYS[2], 0, cmsgpack.pack(known))
else
  redis.call('RPUSH', KEYS[2], cmsgpack.pack(known))
  local lifetime = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]))
  redis.call('PEXPIRE', KEYS[2], lifetime)
  lists(ARGV[1], '+inf', lifetime)
end
return true
""")

# ARGV: stream, worker
_UNFOLLOW: Final = _script(_EVENTS + """
local at = kept and place(known.followers, ARGV[2])
if not at then return false end
table.remove(known.followers, at)
if known.last < 0 and #known.followers == 0 then
  redis.call('UNLINK', KEYS[2])
  redis.call('ZREM', list_of_streams(), ARGV[1])
else
  redis.call('LSET', KEYS[2], 0, cmsgpack.pack(known))
end
return true
""")

# KEYS: a lease and a box for each letter; ARGV: the most letters, milliseconds, letters
_SEND: Final = _script("""
local gone = {}
for i = 1, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    put(KEYS[i + 1], 'c', ARGV[(i + 5) / 2], ARGV[1], ARGV[2])
  else
    table.insert(gone, (i - 1) / 2)
  end
end
return gone
""")

# KEYS: the bus; ARGV: the most changes, milliseconds, changes
_PUBLISH: Final = _script("""
for i = 3, #ARGV do put(KEYS[1], 'c', ARGV[i], ARGV[1], ARGV[2]) end
return true
""")

# KEYS: a lease, a box, the bus; ARGV: milliseconds of the lease and of others, the most letters,
# the number of the last letter that was read
_RENEW: Final = _script("""
local had = redis.call('EXISTS', KEYS[1])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
local read = {had}
for i = 2, 3 do
  -- There is always an entry, so that the next number is known.
  if not last(KEYS[i]) then put(KEYS[i], 'n', '', ARGV[3], ARGV[2]) end
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
  read[i] = string.format('%.0f', last(KEYS[i]))
end
redis.call('XTRIM', KEYS[2], 'MINID', ARGV[4])
return read
""")


class _Command(NamedTuple):
    """A command, or a script with the number of its keys, its keys and arguments."""

    script: _Script | None
    arguments: tuple[_Argument, ...]

    @property
    def sent(self) -> tuple[_Argument, ...]:
        script, arguments = self
        return arguments if script is None else ("EVALSHA", script.digest, *arguments)


_LOAD: Final = [("SCRIPT", "LOAD", script.text) for script in _scripts]


class _Line:
    """A connection to the server that is opened when it is used, and again after it has failed."""

    def __init__(self, engine: RedisEngine) -> None:
        self._engine = engine
        self._connection: _Connection = None
        self._errors: Final = _redis("redis.exceptions")
        self._closed_until = 0.0
        self.pause = 0.0
        """The seconds after a failure in which nobody tries to connect again."""
        self.process: bytes | None = None
        """What the process of the server calls itself to which this was connected last."""

    @property
    def is_open(self) -> bool:
        return self._connection is not None and bool(self._connection.is_connected)

    async def run(
        self, commands: Sequence[_Command], *, patience: float = 0.0, opening: bool = True
    ) -> list[Any]:
        """Send commands together; return a reply to each, which may be an `EngineUnavailable`.

        Raise `EngineUnavailable` if they are not answered in `patience` seconds and the timeout.
        """
        if now() < self._closed_until or not (opening or self.is_open):
            raise EngineUnavailable("Redis is away")
        try:
            async with asyncio.timeout(self._engine.timeout + patience):
                await self._open()
                replies = await self._run(commands)
        except Exception as error:
            # redis-py raises other errors than its own where a connection ends under it.
            await self.close()
            self.pause = min(2 * self.pause, _LONGEST_PAUSE) or _FIRST_PAUSE
            self._closed_until = max(self._closed_until, now() + self.pause)
            raise EngineUnavailable(self._reason(error)) from None
        self.pause = 0.0
        if any(self._is(reply, "ReadOnlyError") for reply in replies):
            # It has become a replica.
            await self.close()
        return [
            EngineUnavailable(self._reason(reply)) if isinstance(reply, Exception) else reply
            for reply in replies
        ]

    async def _open(self) -> None:
        if self.is_open:
            return
        connection = self._connection = self._engine.make_connection()
        await connection.connect()
        if connection is not self._connection:
            # It was closed meanwhile.
            await connection.disconnect(nowait=True)
        # Scripts that are known do not change the order of calls.
        about, role, *_ = await self._exchange(
            [("INFO", "server"), ("INFO", "replication"), *_LOAD]
        )
        if isinstance(role, bytes) and b"role:slave" in role:
            raise self._errors.ReadOnlyError
        lines = about.splitlines() if isinstance(about, bytes) else []
        self.process = next((line for line in lines if line.startswith(b"run_id:")), None)

    async def _run(self, commands: Sequence[_Command]) -> list[Any]:
        sent = [command.sent for command in commands]
        replies = await self._exchange(sent)
        unknown = [i for i, reply in enumerate(replies) if self._is(reply, "NoScriptError")]
        if unknown:
            again = await self._exchange([*_LOAD, *(sent[i] for i in unknown)])
            for i, reply in zip(unknown, again[len(_LOAD) :], strict=True):
                replies[i] = reply
        return replies

    async def _exchange(self, commands: Sequence[tuple[_Argument, ...]]) -> list[Any]:
        if not self.is_open:
            # Others may close it, and redis-py would open it again without looking where.
            raise self._errors.ConnectionError("the connection was closed")
        connection = self._connection
        await connection.send_packed_command(b"".join(map(_packed, commands)))
        replies: list[Any] = []
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except self._errors.ResponseError as error:
                replies.append(error)
        return replies

    def _is(self, error: object, name: str) -> bool:
        return isinstance(error, getattr(self._errors, name))

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError) or self._is(error, "TimeoutError"):
            return "Redis does not answer in time"
        # What a server says may repeat what it was sent, such as a password.
        plain = type(error) is self._errors.ConnectionError or isinstance(error, OSError)
        return f"Redis is away: {error if plain else type(error).__name__}"

    def reopen(self) -> None:
        """Have the next call connect at once: the server is back."""
        self.pause = self._closed_until = 0.0

    async def close(self, *, for_good: bool = False) -> None:
        """Close it; `for_good` if it must not be opened again."""
        if for_good:
            self._closed_until = inf
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(self._errors.RedisError, OSError):
                await connection.disconnect(nowait=True)


def _packed(command: tuple[_Argument, ...]) -> bytes:
    """Return a command as it is sent, which redis-py packs more slowly, for more types."""
    values = [
        one if isinstance(one, bytes) else str(one).encode(errors="surrogatepass")
        for one in command
    ]
    return b"*%d\r\n%b" % (
        len(values),
        b"".join([b"$%d\r\n%b\r\n" % (len(value), value) for value in values]),
    )


class _Calls:
    """Calls to the server: those of one turn of the event loop go out together, but not too many.

    Others go out when these have been answered, or fail with them: what waits behind calls that are
    answered in time is not late.
    """

    def __init__(self, engine: RedisEngine, listener: "_Listener") -> None:
        self.line: Final = _Line(engine)
        self._listener = listener
        self._waiting: deque[tuple[_Command, Future[Any]]] = deque()
        self._task: Task[None] | None = None

    async def run(self, script: _Script | None, *arguments: _Argument) -> Any:
        """Return the reply to one call; raise `EngineUnavailable`."""
        return await self.put(script, *arguments)

    def put(self, script: _Script | None, *arguments: _Argument) -> Future[Any]:
        """Make a call in this turn; return its reply to come."""
        reply = get_running_loop().create_future()
        self._waiting.append((_Command(script, arguments), reply))
        if self._task is None:
            self._task = create_task(self._send())
        return reply

    async def _send(self) -> None:
        calls = list[tuple[_Command, Future[Any]]]()
        try:
            while self._waiting:
                some = [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]
                # Nobody waits any more for those that are done.
                if calls := [call for call in some if not call[1].done()]:
                    self._settle(calls, await self._replies([command for command, _ in calls]))
        finally:
            # An event loop that ends cancels this task, too, which others may still count on.
            self._task, left = None, [*calls, *self._waiting]
            self._waiting.clear()
            self._settle(left, [EngineUnavailable("the event loop ends") for _ in left])

    async def _replies(self, commands: Sequence[_Command]) -> Sequence[Any]:
        try:
            replies = await self.line.run(commands)
            await self._listener.compare(self.line)
        except EngineUnavailable as error:
            return [EngineUnavailable(*error.args) for _ in commands]
        return replies

    def _settle(
        self, calls: Iterable[tuple[_Command, Future[Any]]], replies: Sequence[Any]
    ) -> None:
        for (_, waiter), reply in zip(calls, replies, strict=True):
            if waiter.done():
                continue
            if isinstance(reply, EngineUnavailable):
                waiter.set_exception(reply)
            else:
                waiter.set_result(reply)

    @property
    def busy(self) -> bool:
        return self._task is not None

    async def close(self) -> None:
        """Close the connection; calls that have not been answered fail."""
        await self.line.close(for_good=True)
        if self._task is not None:
            await self._task


def _milliseconds(seconds: float) -> int:
    return max(ceil(seconds * 1000), 1)


class RedisConnection:
    """The connection of a worker."""

    def __init__(self, engine: RedisEngine, worker: str, lease: Lease, receive: Receive) -> None:
        self._listener = _Listener(engine, worker, lease, receive)
        self._calls = _Calls(engine, self._listener)
        self._lease = lease
        self.mail: Final = RedisWorkers(self._calls, engine.namespace)
        self.bus: Final = self.mail
        self.sessions: Final = RedisSessions(self._calls, self.mail, engine.namespace)
        self.events: Final = RedisEvents(self._calls, engine.namespace, engine.max_events)

    @property
    def current(self) -> bool:
        return self._lease.current

    @asynccontextmanager
    async def entered(self) -> "AsyncGenerator[RedisConnection, None]":
        """Be there for others; wait for the server at first, but only so long as for a call."""
        listener = self._listener
        task = create_task(listener.listen(self._calls))
        try:
            await listener.tried.wait()
            listener.entered = True
            yield self
        finally:
            task.cancel()
            try:
                await asyncio.wait((task,))
                with suppress(EngineUnavailable):
                    await self._calls.run(None, "UNLINK", *listener.own_keys)
            finally:
                self._lease.end()
                await listener.line.close(for_good=True)
                await self._calls.close()
            if not task.cancelled():
                task.result()


class _Listener:
    """What hears letters and changes, and holds the lease, on a connection of its own."""

    def __init__(self, engine: RedisEngine, worker: str, lease: Lease, receive: Receive) -> None:
        workers = f"{engine.namespace}:{{workers}}"
        self._bus = f"{workers}:bus".encode()
        self._box = f"{workers}:box:{worker}".encode()
        self._held = f"{workers}:lease:{worker}".encode()
        self._lease = lease
        self._receive = receive
        self.line: Final = _Line(engine)
        self.tried: Final = asyncio.Event()
        """The server has been reached, or has not."""
        self.entered = False
        """From now on something may be missed."""
        # The numbers of the last entries that were read, and of which process of the server.
        self._read: dict[bytes, int] = {}
        self._process: bytes | None = None
        self._at_once = _MOST_AT_ONCE
        self._away = False

    @property
    def own_keys(self) -> tuple[bytes, bytes]:
        return self._held, self._box

    async def listen(self, calls: _Calls) -> None:
        try:
            while True:
                await self._listen(calls)
        finally:
            self.tried.set()

    async def _listen(self, calls: _Calls) -> None:
        """Connect and hear until that fails; return when it may be tried again."""
        try:
            await self._renew(calls, connecting=True)
            while True:
                while wait := self._lease.wait:
                    await self._hear(wait)
                await self._renew(calls)
        except EngineUnavailable as error:
            self.tried.set()
            if not self._away:
                self._away = True
                _log.warning("%s", error)
        # What was too much is read in smaller pieces.
        self._at_once = max(self._at_once // 8, 1)
        if not calls.busy:
            # It was to the same server; a call should not be the first to find out.
            await calls.line.close()
        await asyncio.sleep(self.line.pause or _LONGEST_PAUSE)

    async def compare(self, line: _Line) -> None:
        """Connect anew if calls go to another process of a server than this listens to."""
        if None not in (line.process, self._process) and line.process != self._process:
            await self.line.close()

    async def _renew(self, calls: _Calls, *, connecting: bool = False) -> None:
        asked, boxes = now(), (self._box, self._bus)
        limits = _milliseconds(self._lease.seconds), _milliseconds(_QUIET), _MOST_LETTERS
        arguments = 3, self._held, *boxes, *limits, self._read.get(self._box, 0)
        reply = await self._run(_Command(_RENEW, arguments), opening=connecting)
        had, *newest = map(int, reply)
        process, before = self.line.process, self._process
        # Another process may not have all that this one had.
        missed = connecting and (process is None or process != before)
        missed |= not had or not self._lease.current
        for box, number in zip(boxes, newest, strict=True):
            if number < self._read.setdefault(box, number):
                self._read[box], missed = number, True
        self._process = process
        if missed and self.entered:
            self._receive(GAP)
        self._lease.renew(asked)
        self.tried.set()
        if self._away:
            self._away = False
            _log.warning("Redis is back")
        if connecting and calls.line.process != process:
            await calls.line.close()
        calls.line.reopen()
        # So that a connection that is seldom used stays open, and is to the same server.
        # Nobody has to know how that ends.
        calls.put(None, "PING").add_done_callback(lambda one: one.cancelled() or one.exception())

    async def _hear(self, wait: float) -> None:
        keys = self._bus, self._box
        # Whatever has the same number was put there by somebody else.
        places = (f"{self._read[key]}-{_LAST}" for key in keys)
        options = "COUNT", self._at_once, "BLOCK", _milliseconds(wait), "STREAMS"
        command = _Command(None, ("XREAD", *options, *keys, *places))
        found = await self._run(command, patience=wait, opening=False)
        self._at_once = min(2 * self._at_once, _MOST_AT_ONCE)
        for key, entries in found or ():
            kind = Change if key == self._bus else Letter
            for entry, (field, content, *_) in entries:
                number = int(entry.partition(b"-")[0])
                if number != self._read[key] + 1:
                    self._receive(GAP)
                self._read[key] = number
                if field == b"c":
                    self._receive(kind(content))

    async def _run(self, command: _Command, *, patience: float = 0.0, opening: bool) -> Any:
        (reply,) = await self.line.run([command], patience=patience, opening=opening)
        if isinstance(reply, EngineUnavailable):
            raise reply
        return reply


class RedisWorkers:
    """Letters to workers, and changes for all of them."""

    def __init__(self, calls: _Calls, namespace: str) -> None:
        self._calls = calls
        self._prefix = f"{namespace}:{{workers}}"

    async def send(self, letters: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        if not letters:
            return frozenset()
        keys = [
            f"{self._prefix}:{what}:{worker}" for worker, _ in letters for what in ("lease", "box")
        ]
        limits, contents = (_MOST_LETTERS, _milliseconds(_QUIET)), (one for _, one in letters)
        gone: list[int] = await self._calls.run(_SEND, len(keys), *keys, *limits, *contents)
        return frozenset(letters[i][0] for i in gone)

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        # Of some it may be heard meanwhile, of which it need not be asked then.
        names = tuple(workers)
        if not names:
            return frozenset()
        keys = (f"{self._prefix}:lease:{worker}" for worker in names)
        found = await self._calls.run(None, "MGET", *keys)
        return frozenset(worker for worker, held in zip(names, found, strict=True) if held)

    async def publish(self, changes: Sequence[bytes]) -> None:
        if changes:
            limits = _MOST_LETTERS, _milliseconds(_QUIET)
            await self._calls.run(_PUBLISH, 1, f"{self._prefix}:bus", *limits, *changes)


class RedisSessions:
    """Sessions, each of which is one value."""

    def __init__(self, calls: _Calls, workers: RedisWorkers, namespace: str) -> None:
        self._calls = calls
        self._workers = workers
        self._namespace = namespace

    async def open(self, key: str, worker: str) -> StoredSession | None:
        found = await self._run(_OPEN, key, worker, _COPIES)
        if found is None:
            return None
        *known, copies, opened = found
        if copies:
            # Workers that end in order leave; there are others.
            names = _names(copies)
            gone = names - await self._workers.alive(names)
            await self._run(_GONE, key, opened, *gone - {worker})
        return _stored(known)

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        limit = _milliseconds(lifetime)
        saved = await self._run(_SAVE, key, worker, record, version, limit)
        return None if saved is None else Saved(saved[0], _names(saved[1]) - {worker})

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        left = list(keys)
        while left:
            some, left = left[:_REFRESHED], left[_REFRESHED:]
            limit = _milliseconds(lifetime)
            await asyncio.gather(*(self._run(_REFRESH, key, limit) for key in some))

    async def leave(self, key: str, worker: str) -> None:
        await self._run(_LEAVE, key, worker)

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        copies = await self._run(_END, key, _milliseconds(lifetime), int(again))
        return None if copies is None else _names(copies)

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        found = await self._run(_CLAIM, key, worker)
        return None if found is None else _stored(found)

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        return bool(await self._run(_DELIVER, key, worker, epoch, delivered))

    async def _run(self, script: _Script, key: str, *arguments: _Argument) -> Any:
        return await self._calls.run(script, 1, f"{self._namespace}:{{{key}}}", *arguments)


def _stored(found: Sequence[Any]) -> StoredSession:
    record, version, owner, epoch, delivered = found
    return StoredSession(record, version, owner.decode(errors="replace") or None, epoch, delivered)


def _names(workers: Iterable[Any]) -> frozenset[str]:
    return frozenset(one.decode(errors="replace") for one in workers if isinstance(one, bytes))


class RedisEvents:
    """Streams of events, each of which is one list."""

    def __init__(self, calls: _Calls, namespace: str, most: int) -> None:
        self._calls = calls
        self._namespace = namespace
        self._most = most

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        lifetime: float,
        end: bool = False,
    ) -> Appended:
        limits = _milliseconds(lifetime), int(end), self._most
        reply = await self._run(_APPEND, key, stream, stream, number, *limits, *messages)
        accepted, last, ended, *followers = reply.split(b"\0")
        return Appended(accepted == b"1", int(last), ended == b"1", _names(filter(None, followers)))

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        events = list[Event]()
        while True:
            found = await self._run(_READ, key, stream, after, _MOST_AT_ONCE, _MOST_BYTES)
            if found is None:
                return None
            ended, first, messages, last = found
            events += [Event(first + i, one) for i, one in enumerate(messages)]
            if not messages or events[-1].number >= last:
                return Events(events, bool(ended))
            after = events[-1].number

    async def follow(self, key: str, stream: str, worker: str) -> None:
        await self._run(_FOLLOW, key, stream, stream, _milliseconds(_QUIET), worker)

    async def unfollow(self, key: str, stream: str, worker: str) -> None:
        await self._run(_UNFOLLOW, key, stream, stream, worker)

    async def _run(self, script: _Script, key: str, stream: str, *arguments: _Argument) -> Any:
        session = f"{self._namespace}:{{{key}}}"
        return await self._calls.run(script, 2, session, f"{session}:e:{stream}", *arguments)
