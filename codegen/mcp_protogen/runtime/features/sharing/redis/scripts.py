"""The Lua scripts, one per call, and their limits."""

from hashlib import sha1
from math import ceil
from typing import Final

MOST_MESSAGES: Final = 10_000
"""The most entries of a box and of the bus; slower readers miss some."""
MOST_AT_ONCE: Final = 200
"""The most entries per read."""
BOX_LIFETIME: Final = 3_600_000
"""The least milliseconds that boxes and the bus stay without a renewed lease."""


LOAD: Final = list[tuple[str, str, bytes]]()
"""The commands that load all scripts."""

# Common functions. The first key is the session, or the first box.
_COMMON: Final = """
local call = redis.call
local function place(list, one)
  for i, other in ipairs(list) do if other == one then return i end end
end
local function drop(list, one)
  local at = place(list, one)
  if at then table.remove(list, at) end
end
-- Unreadable values count as gone: the client can begin anew.
local function sound(key, kind)
  local found = call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then call('UNLINK', key) end
  return key
end
local function unpacked(kept, kinds, names)
  local readable, value = pcall(cmsgpack.unpack, kept)
  if not readable or type(value) ~= 'table' then return end
  for member, kind in pairs(kinds) do if type(value[member]) ~= kind then return end end
  for _, name in ipairs(value[names]) do if type(name) ~= 'string' then return end end
  return value
end
local function session()
  local kept = redis.pcall('GET', KEYS[1])
  if type(kept) ~= 'string' or string.sub(kept, 1, 1) == '-' then return end
  return unpacked(kept, {record = 'string', version = 'number', owner = 'string', epoch = 'number',
    delivered = 'number', opened = 'number', copies = 'table'}, 'copies')
end
local function copied(s, worker)
  s.opened = s.opened + 1
  if place(s.copies, worker) then return false end
  table.insert(s.copies, worker)
  return true
end
local function keep(s)
  call('SET', KEYS[1], cmsgpack.pack(s), 'KEEPTTL')
end
local function known(s)
  return {s.record, s.version, s.owner, s.epoch, s.delivered}
end
local function stream(name)
  return KEYS[1] .. ':e:' .. name
end
local function note(name, last)
  call('SET', KEYS[1] .. ':n:' .. name, last, 'PX', 600000)
end
local function list_of_streams()
  return sound(KEYS[1] .. ':s', 'zset')
end
local function open_streams()
  return ipairs(call('ZRANGEBYSCORE', list_of_streams(), '+inf', '+inf'))
end
local function extend(lifetime)
  for _, name in open_streams() do
    call('PEXPIRE', stream(name), lifetime)
  end
  call('PEXPIRE', list_of_streams(), lifetime)
end
local function now()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end
local function lists(name, lapses, lifetime)
  local names = list_of_streams()
  call('ZADD', names, lapses, name)
  if call('PTTL', names) < tonumber(lifetime) then call('PEXPIRE', names, lifetime) end
end
local function last(box)
  local entry = call('XREVRANGE', box, '+', '-', 'COUNT', 1)[1]
  return entry and tonumber(string.match(entry[1], '^%d+'))
end
local function put(box, field, content, most, quiet)
  local before = last(box)
  local number = string.format('%.0f', before and before + 1 or now())
  call('XADD', box, 'MAXLEN', '~', most, number .. '-0', field, content)
  if not before then call('PEXPIRE', box, quiet) end
end
"""


def _script(body: str) -> str:
    """Return the digest of a script, by which the server knows it."""
    text = (_COMMON + body).encode()
    LOAD.append(("SCRIPT", "LOAD", text))
    return sha1(text, usedforsecurity=False).hexdigest()


# ARGV: worker, number of new copies after which all copies are returned
OPEN: Final = _script("""
local s = session()
if not s then return end
local found = known(s)
found[6] = copied(s, ARGV[1]) and #s.copies % ARGV[2] == 0 and s.copies or {}
found[7] = s.opened
keep(s)
return found
""")

# ARGV: worker, record, version, milliseconds
SAVE: Final = _script("""
local version, s = tonumber(ARGV[3]), nil
if version == 0 then
  if call('EXISTS', KEYS[1]) == 1 then return end
  s = {owner = ARGV[1], epoch = 1, delivered = 0, copies = {}, opened = 0}
else
  s = session()
  if not s or s.version ~= version then return end
end
s.record, s.version = ARGV[2], version + 1
copied(s, ARGV[1])
call('SET', KEYS[1], cmsgpack.pack(s), 'PX', ARGV[4])
extend(ARGV[4])
return {s.version, s.copies}
""")

# ARGV: milliseconds
REFRESH: Final = _script("""
if not session() then return end
call('PEXPIRE', KEYS[1], ARGV[1])
extend(ARGV[1])
""")

# ARGV: worker
LEAVE: Final = _script("""
local s = session()
if not s then return end
drop(s.copies, ARGV[1])
if s.owner == ARGV[1] then s.owner = '' end
keep(s)
""")

# ARGV: number of openings, workers that were gone then
GONE: Final = _script("""
local s = session()
-- A worker may have come back and opened it.
if not s or s.opened ~= tonumber(ARGV[1]) then return end
for i = 2, #ARGV do drop(s.copies, ARGV[i]) end
keep(s)
""")

# ARGV: milliseconds, whether one that has ended counts
END: Final = _script("""
local s = session()
if not s then
  local kept = ARGV[2] == '1' and redis.pcall('GET', KEYS[1])
  local copies = type(kept) == 'string' and string.match(kept, '^-(.*)')
  local readable, workers = pcall(cmsgpack.unpack, copies)
  return readable and type(workers) == 'table' and workers or false
end
for _, name in open_streams() do note(name, 'ended') end
for _, name in ipairs(call('ZRANGE', list_of_streams(), 0, -1)) do
  call('UNLINK', stream(name))
end
call('UNLINK', list_of_streams())
call('SET', KEYS[1], '-' .. cmsgpack.pack(s.copies), 'PX', ARGV[1])
return s.copies
""")

# ARGV: worker
CLAIM: Final = _script("""
local s = session()
if not s then return end
local before = known(s)
s.owner, s.epoch = ARGV[1], s.epoch + 1
copied(s, ARGV[1])
keep(s)
return before
""")

# ARGV: worker, epoch, delivered
DELIVER: Final = _script("""
local s = session()
if not s or s.owner ~= ARGV[1] or s.epoch ~= tonumber(ARGV[2]) then return 0 end
local delivered = tonumber(ARGV[3])
if delivered > s.delivered then
  s.delivered = delivered
  keep(s)
end
return 1
""")

# The state of a stream is the first entry of its list; `last` is -1 before the first event.
_EVENTS: Final = """
local ended = redis.pcall('GETRANGE', KEYS[1], 0, 0) == '-'
local kept = not ended and redis.pcall('LINDEX', KEYS[2], 0)
local known = kept and unpacked(
  kept, {last = 'number', ended = 'boolean', followers = 'table'}, 'followers')
if kept and not known then
  call('UNLINK', KEYS[2])
  kept = false
end
known = known or {last = -1, ended = false, followers = {}}
ended = ended or known.ended
"""

# ARGV: stream, number, milliseconds, whether it ends, the most events, messages
APPEND: Final = _script(_EVENTS + """
local number, messages = tonumber(ARGV[2]), #ARGV - 5
local accepted = not ended and (number == known.last + 1 or (known.last < 0 and number == 1))
if accepted then
  if messages > 0 then known.last = number + messages - 1 end
  known.ended = ARGV[4] == '1'
  ended = known.ended
  if not kept then call('RPUSH', KEYS[2], '') end
  for i = 6, #ARGV do call('RPUSH', KEYS[2], ARGV[i]) end
  local most = tonumber(ARGV[5])
  -- The trimmed place of an event becomes the state.
  call('LTRIM', KEYS[2], math.max(call('LLEN', KEYS[2]) - 1 - most, 0), -1)
  call('LSET', KEYS[2], 0, cmsgpack.pack(known))
  call('PEXPIRE', KEYS[2], ARGV[3])
  if #known.followers > 0 then note(ARGV[1], ended and 'ended' or known.last) end
  local time = math.floor(now() / 1000)
  lists(ARGV[1], ended and time + tonumber(ARGV[3]) or '+inf', ARGV[3])
  if ended then call('ZREMRANGEBYSCORE', list_of_streams(), 0, time) end
end
-- One value is much faster to read than a list.
local flags = {accepted and 1 or 0, math.max(known.last, 0), ended and 1 or 0}
return table.concat(flags, '\\0') .. '\\0' .. (known.followers[1] or '')
""")

# ARGV: after, the most events, the most bytes
READ: Final = _script(_EVENTS + """
local after, at_end = tonumber(ARGV[1]), ended and 1 or 0
local newest = math.max(known.last, 0)
if after > newest then return end
if after == newest or known.last < 0 then return {at_end, 0, {}, 0} end
local first = known.last - call('LLEN', KEYS[2]) + 2
local from = math.max(after + 1, first)
if first > math.max(after + 1, 1) or from > known.last then return end
local place = from - first + 1
local found, bytes = call('LRANGE', KEYS[2], place, place + ARGV[2] - 1), 0
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
FOLLOW: Final = _script(_EVENTS + """
if ended then return end
known.followers = {ARGV[3]}
if kept then
  call('LSET', KEYS[2], 0, cmsgpack.pack(known))
else
  call('RPUSH', KEYS[2], cmsgpack.pack(known))
  local lifetime = math.max(call('PTTL', KEYS[1]), tonumber(ARGV[2]))
  call('PEXPIRE', KEYS[2], lifetime)
  lists(ARGV[1], '+inf', lifetime)
end
""")

# KEYS: a lease and a box for each message; ARGV: the most messages, milliseconds, messages
SEND: Final = _script("""
local gone = {}
for i = 1, #KEYS, 2 do
  if call('EXISTS', KEYS[i]) == 1 then
    put(KEYS[i + 1], 'c', ARGV[(i + 5) / 2], ARGV[1], ARGV[2])
  else
    table.insert(gone, (i - 1) / 2)
  end
end
return gone
""")

# KEYS: the bus; ARGV: the most changes, milliseconds, changes
PUBLISH: Final = _script("""
for i = 3, #ARGV do put(KEYS[1], 'c', ARGV[i], ARGV[1], ARGV[2]) end
""")

# KEYS: a lease, a box, the bus; ARGV: milliseconds of the lease and of others, the most messages,
# the number of the last message that was read
RENEW: Final = _script("""
local had = call('EXISTS', KEYS[1])
call('SET', KEYS[1], '1', 'PX', ARGV[1])
local read = {had}
for i = 2, 3 do
  -- Keep one entry, so that the next number is known.
  if not last(KEYS[i]) then put(KEYS[i], 'n', '', ARGV[3], ARGV[2]) end
  call('PEXPIRE', KEYS[i], ARGV[2])
  read[i] = string.format('%.0f', last(KEYS[i]))
end
call('XTRIM', KEYS[2], 'MINID', ARGV[4])
return read
""")

# Tasks: the first key is the set of leased tasks, and the prefix of the others.
_TASKS: Final = """
local function task(key) return KEYS[1] .. ':' .. key end
local function owned(owner) return sound(KEYS[1] .. ':of:' .. owner, 'zset') end
local function read(key, ...) return call('HMGET', sound(task(key), 'hash'), ...) end
local function clock() return math.floor(now() / 1000) end
local function lapses(name, ends)
  if ends == '' then call('PERSIST', name) else call('PEXPIREAT', name, ends) end
end
sound(KEYS[1], 'zset')
-- A set lives as long as its last member.
local function put_into(set, score, key, ends)
  call('ZADD', set, score, key)
  local left = call('PTTL', set)
  local longer = left >= 0 and (ends == '' or clock() + left < tonumber(ends))
  if longer or call('ZCARD', set) == 1 then lapses(set, ends) end
end
local function write(key, record, version, owner, ends, lease)
  call('HSET', task(key), 'r', record, 'v', string.format('%.0f', version), 'o', owner)
  lapses(task(key), ends)
  put_into(owned(owner), 0, key, ends)
  if lease == '' then
    call('ZREM', KEYS[1], key)
  else
    put_into(KEYS[1], clock() + lease, key, ends)
  end
end
local function is_version(text) return string.match(text or '', '^%d+$') end
local function stored(key)
  local kept = read(key, 'r', 'v')
  local at = string.format('%.6f', now() / 1000000)
  return kept[1] and is_version(kept[2]) and {key, kept[1], kept[2], at}
end
"""

# ARGV: key, record, owner, milliseconds at which it ends, those of the lease, the most tasks
CREATE_TASK: Final = _script(_TASKS + """
local key, set, most = ARGV[1], owned(ARGV[3]), tonumber(ARGV[6])
local kept = read(key, 'r', 'v')
if kept[1] then return kept[1] == ARGV[2] and kept[2] == '1' and 1 or 0 end
if call('ZCARD', set) >= most then
  for _, one in ipairs(call('ZRANGE', set, 0, -1)) do
    if call('EXISTS', task(one)) == 0 then call('ZREM', set, one) end
  end
  if call('ZCARD', set) >= most then return 0 end
end
write(key, ARGV[2], 1, ARGV[3], ARGV[4], ARGV[5])
return 1
""")

# ARGV: key
GET_TASK: Final = _script(_TASKS + "return stored(ARGV[1])")

# ARGV: keys
VERSIONS: Final = _script(_TASKS + """
local found = {}
for i, key in ipairs(ARGV) do found[i] = is_version(read(key, 'v')[1]) or false end
return found
""")

# ARGV: key, record, version, milliseconds at which it ends, those of the lease
REPLACE_TASK: Final = _script(_TASKS + """
local kept = read(ARGV[1], 'v', 'o')
if kept[1] ~= ARGV[3] or not kept[2] then return 0 end
write(ARGV[1], ARGV[2], ARGV[3] + 1, kept[2], ARGV[4], ARGV[5])
return 1
""")

# ARGV: milliseconds of the lease, keys
RENEW_TASKS: Final = _script(_TASKS + """
local due = clock() + ARGV[1]
for i = 2, #ARGV do call('ZADD', KEYS[1], 'XX', due, ARGV[i]) end
""")

# ARGV: key
DELETE_TASK: Final = _script(_TASKS + """
local owner = read(ARGV[1], 'o')[1]
call('UNLINK', task(ARGV[1]))
call('ZREM', KEYS[1], ARGV[1])
if owner then call('ZREM', owned(owner), ARGV[1]) end
""")

# ARGV: owner, key that they follow, the most
TASKS_OF: Final = _script(_TASKS + """
local set, found, most = owned(ARGV[1]), {}, tonumber(ARGV[3])
local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
while #found < most do
  local keys = call('ZRANGEBYLEX', set, from, '+', 'LIMIT', 0, most - #found)
  if #keys == 0 then break end
  for _, key in ipairs(keys) do
    local one = stored(key)
    if one then table.insert(found, one) else call('ZREM', set, key) end
    from = '(' .. key
  end
end
return found
""")

# ARGV: milliseconds of the lease, the most
TAKE_OVERDUE: Final = _script(_TASKS + """
local found, time = {}, clock()
repeat
  local keys = call('ZRANGEBYSCORE', KEYS[1], '-inf', time, 'LIMIT', 0, ARGV[2])
  for _, key in ipairs(keys) do
    local one = stored(key)
    if one then
      call('ZADD', KEYS[1], time + ARGV[1], key)
      table.insert(found, one)
    else
      call('ZREM', KEYS[1], key)
    end
  end
until #keys == 0 or #found > 0
return found
""")


def milliseconds(seconds: float) -> int:
    """Return a time for scripts and commands, at least 1."""
    return max(ceil(seconds * 1000), 1)
