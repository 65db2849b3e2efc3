"""The tables and statements."""

from dataclasses import dataclass
from typing import Final

LAYOUT: Final = "mcp tables, layout 2"
"""The comment on the first table; it changes with the tables."""

TABLES: Final = f"""\
create table if not exists sessions (
    key text primary key,
    record bytea not null,
    version bigint not null,        -- 0: only has streams
    owner text,
    epoch bigint not null,
    delivered bigint not null,
    copies text[] not null,
    ended boolean not null,
    lapses_at timestamptz not null
);
create index if not exists sessions_lapses_at on sessions (lapses_at);
comment on table sessions is '{LAYOUT}';
create table if not exists streams (
    session text not null references sessions on delete cascade,
    name text not null,
    last bigint not null,           -- -1: no events yet
    ended boolean not null,
    followers text[] not null,
    lapses_at timestamptz,          -- of one that has ended
    primary key (session, name)
);
create index if not exists streams_lapses_at on streams (lapses_at)
    where lapses_at is not null;
create table if not exists events (
    session text not null,
    stream text not null,
    number bigint not null,
    message bytea not null,
    primary key (session, stream, number),
    foreign key (session, stream) references streams on delete cascade
);
create unlogged table if not exists workers (
    name text primary key,
    lapses_at timestamptz not null
);
create unlogged table if not exists messages (
    id bigint generated always as identity primary key,
    worker text not null references workers on delete cascade,
    content bytea not null
);
create index if not exists messages_worker on messages (worker, id);
create unlogged table if not exists bus (
    one boolean primary key check (one),
    last bigint not null
);
create unlogged table if not exists changes (
    id bigint primary key,
    content bytea not null,
    published_at timestamptz not null
);
create table if not exists tasks (
    key text collate "C" primary key,
    owner text not null,
    record bytea not null,
    version bigint not null,
    ends_at timestamptz,            -- null: never
    due timestamptz                 -- null: no worker
);
create index if not exists tasks_owner on tasks (owner, key);
create index if not exists tasks_due on tasks (due) where due is not null;
create index if not exists tasks_ends_at on tasks (ends_at) where ends_at is not null;
"""
BEGIN: Final = "begin;\nselect pg_advisory_xact_lock(7168880);\n"
"""Workers that start at once wait here for the first one."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A database schema with the tables."""

    name: str

    @property
    def quoted_name(self) -> str:
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def script(self) -> str:
        path = f"set local search_path to {self.quoted_name};\n"
        return "".join([BEGIN, self.creation, path, TABLES, "commit;\n"])

    @property
    def creation(self) -> str:
        return f"create schema if not exists {self.quoted_name};\n"


PREPARE: Final = """
select set_config('search_path', %(path)s, false),
    set_config('statement_timeout', %(timeout)s, false),
    set_config('default_transaction_isolation', 'read committed', false),
    obj_description(to_regclass(%(path)s || '.sessions'), 'pg_class')"""
NO_SCHEMA: Final = "select where to_regnamespace(%(path)s) is null"
NO_TABLES: Final = "select where to_regclass(%(path)s || '.sessions') is null"

# Sessions. An expired one counts as deleted.

_LIVE: Final = "key = %(key)s and sessions.lapses_at > clock_timestamp()"
_GOOD: Final = f"{_LIVE} and version > 0 and not ended"
# The sum must be a time that the database can store.
_LATER: Final = "clock_timestamp() + least(%(lifetime)s::float8, 1e9) * interval '1 second'"
# If there are many, drop workers that are gone: one that is back opens the session again.
_COPIES: Final = """array_append(array_remove(
    case when cardinality(copies) < 8 then copies
    else array(select name from workers where name = any(copies)) end,
    %(worker)s::text), %(worker)s::text)"""
_STORED: Final = "record, version, owner, epoch, delivered"

OPEN: Final = f"update sessions set copies = {_COPIES} where {_GOOD} returning {_STORED}"
CREATE: Final = f"""
with lapsed as (
    delete from streams where session = %(key)s
    and exists (select from sessions where key = %(key)s and lapses_at <= clock_timestamp())
)
insert into sessions as s ({_STORED}, key, copies, ended, lapses_at)
values (%(record)s::bytea, %(version)s::bigint, %(worker)s::text, %(version)s::bigint, 0,
    %(key)s, array_remove(array[%(worker)s::text], null), false, {_LATER})
on conflict (key) do update set record = excluded.record, version = excluded.version,
    owner = excluded.owner, epoch = excluded.epoch, delivered = 0, copies = excluded.copies,
    ended = false, lapses_at = excluded.lapses_at
where s.lapses_at <= clock_timestamp() or (s.version = 0 and not s.ended)
returning version, copies"""
SAVE: Final = f"""
update sessions set record = %(record)s::bytea, version = version + 1, copies = {_COPIES},
    lapses_at = {_LATER}
where {_GOOD} and version = %(version)s::bigint returning version, copies"""
# Locked in one order, to avoid deadlocks.
REFRESH: Final = f"""
update sessions set lapses_at = {_LATER} where key in (
    select key from sessions where key = any(%(keys)s::text[]) and lapses_at > clock_timestamp()
    and not ended order by key for no key update
)"""
LEAVE: Final = """
update sessions set copies = array_remove(copies, %(worker)s::text),
    owner = nullif(owner, %(worker)s::text)
where key = %(key)s"""
END: Final = f"""
with ended as (
    update sessions set ended = true, record = '', lapses_at = {_LATER}
    where {_LIVE} and version > 0 and (not ended or %(again)s) returning key, copies
), emptied as (delete from streams where session in (select key from ended))
select copies from ended"""
CLAIM: Final = f"""
with before as (select key, {_STORED} from sessions where {_GOOD} for no key update)
update sessions as s set owner = %(worker)s::text, epoch = s.epoch + 1, copies = {_COPIES}
from before where s.key = before.key
returning before.record, before.version, before.owner, before.epoch, before.delivered"""
DELIVER: Final = f"""
update sessions set delivered = greatest(delivered, %(delivered)s::bigint)
where {_GOOD} and owner = %(worker)s and epoch = %(epoch)s::bigint returning true"""

# Events. Writers of a stream wait for its row.

APPEND: Final = f"""
with written as (
    insert into streams as s (session, name, last, ended, followers, lapses_at)
    select %(key)s, %(stream)s, %(last)s::bigint, %(end)s, '{{}}',
        case when %(end)s then {_LATER} end
    where exists (select from sessions where {_LIVE} and not ended)
    and (%(number)s::bigint in (0, 1)
        or exists (select from streams where session = %(key)s and name = %(stream)s))
    on conflict (session, name) do update
        set last = greatest(s.last, excluded.last), ended = excluded.ended,
            lapses_at = excluded.lapses_at
        where not s.ended
        and (s.last + 1 = %(number)s::bigint or (s.last < 0 and %(number)s::bigint = 1))
    returning followers
), added as (
    insert into events (session, stream, number, message)
    select %(key)s, %(stream)s, %(number)s::bigint + place - 1, message
    from written, unnest(%(messages)b::bytea[]) with ordinality as given (message, place)
), trimmed as (
    delete from events where session = %(key)s and stream = %(stream)s
    and number <= %(last)s::bigint - %(max_events)s::bigint and exists (select from written)
)
select followers[1] from written"""
READ: Final = f"""
select sessions.ended, coalesce(last, -1), coalesce(streams.ended, false), number, message
from sessions left join streams on streams.session = key and name = %(stream)s
left join events on events.session = key and stream = name and number > %(after)s::bigint
where {_LIVE} order by number"""
FOLLOW: Final = f"""
insert into streams as s (session, name, last, ended, followers)
select %(key)s, %(stream)s, -1, false, array[%(worker)s::text]
where exists (select from sessions where {_LIVE})
on conflict (session, name) do update
    set followers = excluded.followers
returning true"""
NEWS: Final = """
select session, name
from unnest(%(keys)s::text[], %(names)s::text[], %(seen)s::bigint[]) as given (session, name, seen)
left join streams using (session, name)
left join sessions on key = session and sessions.lapses_at > clock_timestamp()
where key is null or last is null or streams.ended or greatest(last, 0) <> greatest(seen, 0)"""

# Messages and changes. Notifications only wake the listener: losing one loses no data.

SEND: Final = """
with boxes as materialized (
    select name, channel
    from unnest(%(names)s::text[], %(channels)s::text[]) as given (name, channel)
    join workers using (name) where lapses_at > clock_timestamp() for key share of workers
), sent as (
    insert into messages (worker, content) select name, content
    from unnest(%(to)s::text[], %(contents)b::bytea[])
        with ordinality as given (name, content, place)
    join boxes using (name) order by place
)
select name from boxes, pg_notify(channel, '')"""
ALIVE: Final = """
select name from workers where name = any(%(names)s::text[]) and lapses_at > clock_timestamp()"""
# A publisher holds the row of the bus until its commit, so numbers become visible in order and
# without gaps.
PUBLISH: Final = """
with tail as (
    insert into bus as b values (true, %(number)s::bigint)
    on conflict (one) do update set last = b.last + excluded.last returning last
), published as (
    insert into changes (id, content, published_at)
    select last - %(number)s::bigint + place, content, clock_timestamp()
    from tail, unnest(%(contents)b::bytea[]) with ordinality as given (content, place)
)
select from tail, pg_notify(%(channel)s, '')"""

_KEPT: Final = "(t.ends_at is null or t.ends_at > clock_timestamp())"
_ENDS: Final = "to_timestamp(%(ends_at)s::float8)"
_LEASED: Final = "clock_timestamp() + %(lease)s::float8 * interval '1 second'"
_TASK: Final = "t.key, t.record, t.version, extract(epoch from clock_timestamp())::float8"

# Concurrent creations may exceed the limit a little.
CREATE_TASK: Final = f"""
with known as (
    select version = 1 and record = %(record)s::bytea from tasks as t
    where key = %(key)s and {_KEPT}
), made as (
    insert into tasks as t (key, owner, record, version, ends_at, due)
    select %(key)s, %(owner)s, %(record)s::bytea, 1, {_ENDS}, {_LEASED}
    where not exists (select from known) and %(most)s::bigint >
        (select count(*) from tasks as t where owner = %(owner)s and {_KEPT})
    on conflict (key) do update set owner = excluded.owner, record = excluded.record, version = 1,
        ends_at = excluded.ends_at, due = excluded.due
    where not {_KEPT} or (t.version = 1 and t.record = excluded.record)
    returning true
)
select * from known union all select * from made"""
GET_TASK: Final = f"select {_TASK} from tasks as t where key = %(key)s and {_KEPT}"
VERSIONS: Final = f"""
select key, version from tasks as t where key = any(%(keys)s::text[]) and {_KEPT}"""
REPLACE_TASK: Final = f"""
update tasks as t set record = %(record)s::bytea, version = version + 1, ends_at = {_ENDS},
    due = {_LEASED}
where key = %(key)s and version = %(version)s::bigint and {_KEPT} returning true"""
# Locked in one order, to avoid deadlocks.
RENEW_TASKS: Final = f"""
update tasks set due = {_LEASED} where key in (
    select key from tasks where key = any(%(keys)s::text[]) and due is not null
    order by key for no key update
)"""
DELETE_TASK: Final = "delete from tasks where key = %(key)s"
TASKS_OF: Final = f"""
select {_TASK} from tasks as t where owner = %(owner)s and key > %(after)s and {_KEPT}
order by key limit %(size)s"""
TAKE_OVERDUE: Final = f"""
with overdue as (
    select key from tasks as t where due <= clock_timestamp() and {_KEPT}
    order by due limit %(most)s for no key update skip locked
)
update tasks as t set due = {_LEASED} from overdue where t.key = overdue.key returning {_TASK}"""

INSERT_WORKER: Final = f"""
insert into workers values (%(worker)s, {_LEASED})
on conflict (name) do update set lapses_at = excluded.lapses_at"""
DELETE_WORKER: Final = "delete from workers where name = %(worker)s"
# Renews the lease, deletes the messages read last time, and reads new ones.
RENEW_AND_READ: Final = f"""
with renewed as (
    update workers set lapses_at = {_LEASED}
    where name = %(worker)s and lapses_at > clock_timestamp() returning name
), forgotten as (
    delete from messages where worker = %(worker)s and id = any(%(read)s::bigint[])
)
select 0 as kind, 0 as id, null::bytea from renewed
union all select 1, last, null from bus
union all (select 2, id, content from messages
    where worker = %(worker)s and id <> all(%(read)s::bigint[]) order by id limit %(limit)s)
union all (select 3, id, content from changes
    where id > %(seen)s::bigint order by id limit %(limit)s)
order by kind, id"""
CLEAN: Final = """
with lapsed as (
    select key from sessions where lapses_at <= clock_timestamp()
    order by lapses_at limit %(limit)s for update skip locked
), ended as (
    delete from sessions using lapsed where sessions.key = lapsed.key returning true
), over as (
    delete from streams where (session, name) in (
        select session, name from streams where lapses_at <= clock_timestamp()
        order by lapses_at limit %(limit)s for update skip locked
    ) returning true
), lapsed_tasks as (
    delete from tasks where key in (
        select key from tasks where ends_at <= clock_timestamp()
        order by ends_at limit %(limit)s for update skip locked
    ) returning true
), gone as (
    delete from workers where lapses_at < clock_timestamp() - interval '1 minute'
), old as (
    delete from changes where id in (select id from changes order by id limit %(limit)s)
    and (id <= (select last from bus) - %(max_changes)s::bigint
        or published_at < clock_timestamp() - interval '5 minutes')
    returning true
)
select greatest((select count(*) from ended), (select count(*) from over),
    (select count(*) from lapsed_tasks), (select count(*) from old))"""
