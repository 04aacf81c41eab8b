# ruff: noqa: S608 - the statements are made of numbers and of constants of this file
"""A desk that has served for years, made by SQL: customers with their messages, answers, cases, posts and costs.

fill        the rows, in a few statements a table, on SQLite and on Postgres
share       what one customer wrote in a channel, among what others wrote
customer    the Slack id of one of the customers
message     where one of their messages is

Message n (from 0) is the (n // customers)th of customer n % customers. Five messages make a thread of direct messages,
and every second thread has a case, so that there is one case to ten messages.
"""

from typing import Any

from sqlalchemy import Table, insert, text

from bot.conversation import ThreadRef
from bot.store import schema
from bot.store.database import Database, Transaction

TEAM, AGENTS, SUPPORT = "T0FRONTDESK", "C0AGENTS", "C0SUPPORT"
THREAD_MESSAGES = 5
SHARED_THREADS = (300, 300, *(12 for _ in range(50)))
"""How many messages the threads of a channel have, of which every third is the customer's."""
START = 1_700_000_000
"""When the first message was written; each of the others a second later."""

AT_ONCE = 100_000
"""Messages of one statement: Postgres ends those that take long, as it does for the product."""

Rows = dict[Table, list[dict[str, Any]]]


def customer(number: int) -> str:
    """The Slack id of a customer."""
    return f"U{number:08}"


def channel(number: int) -> str:
    """The direct messages with a customer."""
    return f"D{number:08}"


def message(number: int, *, customers: int) -> tuple[ThreadRef, str]:
    """The thread and the ts of a message."""
    who, ordinal = number % customers, number // customers
    root = who + (ordinal - ordinal % THREAD_MESSAGES) * customers
    return ThreadRef(TEAM, channel(who), _ts(root)), _ts(number)


def _ts(number: int) -> str:
    return f"{START + number}.000000"


async def fill(database: Database, *, messages: int, customers: int) -> None:
    """Make the rows, in tables that are empty."""
    for first in range(0, messages, AT_ONCE):
        for statement in _statements(first, min(first + AT_ONCE, messages), customers):
            async with database.transaction() as tx:
                await tx.execute(text(_in(tx, statement)))
        async with database.transaction() as tx:
            if tx.dialect.name == "postgresql":
                # What was just made is on disk: a desk does not grow by so much in a minute.
                await tx.execute(text("checkpoint"))
    async with database.transaction() as tx:
        if tx.dialect.name == "postgresql":
            for table in ("inbox", "case_", "outbox", "suggestion"):
                await tx.execute(text(f"select setval(pg_get_serial_sequence('{table}', 'id'), {2 * messages})"))
            # A server does so by itself after a while; of SQLite nobody asks it.
            await tx.execute(text("analyze"))


async def share(database: Database, user: str, *, first: int) -> int:
    """Give a customer messages in a channel, with ids from `first` on; how many of them are theirs.

    Each was answered. In every second thread a person is on a case, and each message has a copy below its card.
    """
    rows: Rows = {schema.inbox: [], schema.thread: [], schema.turn: [], schema.outbox: []}
    theirs, number = 0, first
    for length in SHARED_THREADS:
        thread, case = ThreadRef(TEAM, SUPPORT, _ts(number)), number if len(rows[schema.thread]) % 2 else None
        place = {"key": thread.key, "team": TEAM, "channel": SUPPORT, "ts": thread.ts}
        rows[schema.thread].append(place | {"opened_at": START})
        if case is not None:
            async with database.transaction() as tx:
                await tx.execute(insert(schema.kase).values(_case(thread, case)))
        for at in range(length):
            author = user if at % 3 == 0 else f"U8{at % 3:07}"
            theirs += author == user
            _write(rows, thread, author, number, case)
            number += 1
    async with database.transaction() as tx:
        for table, some in rows.items():
            await tx.execute(insert(table), some)
    return theirs


def _write(rows: Rows, thread: ThreadRef, author: str, number: int, case: int | None) -> None:
    """A message, its answer, and its copy where there is a case."""
    ts, words = _ts(number), f"Where is my order {number}? I have waited for item {7 * number} since last week."
    answer = f"Order {number} is on its way and will be with you tomorrow."
    place = {"id": number, "thread": thread.key, "ts": ts}
    written = {"team": TEAM, "channel": SUPPORT, "author": author, "author_team": TEAM, "received_at": START}
    body = {"text": words, "files": []}
    closed = {"kind": "message", "state": "done", "reason": "answered", "handed": True, "finished_at": START}
    rows[schema.inbox].append(place | written | closed | {"event_id": f"Ev{number}", "body": body})
    said = [{"type": "customer", "text": words}, {"type": "agent", "text": answer, "calls": [], "agent": "answers"}]
    turn = {"episode": 0, "customer": author, "agent": "answers", "ended": "answered", "messages": said, "sources": []}
    rows[schema.turn].append(place | turn | {"posts": [f"{ts}3"], "finished_at": START})
    if case is not None:
        card = {"channel": AGENTS, "lane": f"/case/{case}/card", "parent": f"case/{case}/card", "case_id": case}
        sent = {"method": "post", "state": "sent", "ts": f"{ts}2", "created_at": START, "sent_at": START}
        copy = {"key": f"relay/{number}", "source_channel": SUPPORT, "source_ts": ts, "payload": {"text": f">{words}"}}
        rows[schema.outbox].append(card | sent | copy | {"afterwards": {"sent": [], "failed": []}})


def _case(thread: ThreadRef, number: int) -> dict[str, Any]:
    """A case of somebody else's in the thread, and its number."""
    place = {"id": number, "team": TEAM, "thread": thread.key, "channel": thread.channel, "thread_ts": thread.ts}
    who = {"customer": "U80000001", "customer_name": "Customer", "member_type": "member", "language": "en"}
    why = {"reason": "asked_for_person", "priority": "medium", "title": "An order", "summary": "", "outcome": "solved"}
    ended = {"state": "closed", "owner": "U0AGENTA", "owner_name": "Agent A", "opened_at": START, "ended_at": START}
    return place | who | why | ended


def _in(tx: Transaction, statement: str) -> str:
    """The statement in the database's dialect."""
    if tx.dialect.name == "sqlite":
        return statement.replace("as json)", "as text)")
    head, _, rest = statement.partition("n(n) as (")
    numbers, _, rest = rest.partition(")")
    first, end = numbers.split()[1], numbers.split()[-3]
    return head.replace("recursive ", "") + f"n(n) as (select generate_series({first}, {end} - 1))" + rest


def _statements(first: int, end: int, customers: int) -> list[str]:
    numbers = f"with recursive n(n) as (select {first} union all select n + 1 from n where n < {end} - 1), "
    # Postgres divides whole numbers as SQLite does, and writes them without blanks by ltrim.
    m = f"""m as (
        select n, n % {customers} as who,
            n % {customers} + ((n / {customers}) - (n / {customers}) % {THREAD_MESSAGES}) * {customers} as root
        from n
    ), p as (
        select n, who, root, 'U' || {_eight("who")} as user_id, 'D' || {_eight("who")} as dm,
            cast({START} + n as text) || '.000000' as ts, cast({START} + root as text) || '.000000' as root_ts,
            (root / {customers} / {THREAD_MESSAGES}) % 2 = 0 as has_case,
            1 + (root / {customers} / {2 * THREAD_MESSAGES}) * {customers} + who as case_id
        from m
    )"""
    key = f"'{TEAM}/' || dm || '/' || root_ts"
    with_p = numbers + m
    words = "'Where is my order ' || cast(n as text) || '? I have waited for it since last week.'"
    return [
        f"""insert into inbox (id, event_id, team, channel, ts, kind, thread, author, author_team, body, state, reason,
            attempts, fence, handed, interrupt, received_at, finished_at)
        {with_p}
        select n + 1, 'Ev' || cast(n as text), '{TEAM}', dm, ts, 'message', {key}, user_id, '{TEAM}',
            {_json("'text'", words, "'files'", "[]")}, 'done', 'answered', 1, 1, true, '', {START} + n, {START} + n
        from p""",
        f"""insert into thread (key, team, channel, ts, agent, language, episode, note, epoch, opened_at)
        {with_p}
        select {key}, '{TEAM}', dm, ts, 'answers', 'en', 0, '', 0, {START} + n from p where n = root""",
        f"""insert into case_ (id, team, thread, channel, thread_ts, customer, customer_name, member_type, link,
            language, state, version, reason, priority, title, summary, owner, owner_name, opened_at, claimed_at,
            ended_at, desk, waiting_since, due, step, keeps_helping, reopened, outcome, cause)
        {with_p}
        select case_id, '{TEAM}', {key}, dm, ts, user_id, 'Customer', 'member', '', 'en', 'closed', 3,
            'asked_for_person', 'medium', {words}, '', 'U0AGENTA', 'Agent A', {START} + n, {START} + n, {START} + n, '',
            {START} + n, null, 0, false, 0, 'solved', ''
        from p where n = root and has_case""",
        f"""insert into outbox (key, method, channel, thread_ts, lane, parent, payload, afterwards, state, ts, attempts,
            error, case_id, source_channel, source_ts, conversation, epoch, created_at, sent_at)
        {with_p}
        select 'case/' || cast(case_id as text) || '/card', 'post', '{AGENTS}', null,
            '/case/' || cast(case_id as text) || '/card', null, {_json("'text'", words, "'blocks'", "[]")},
            {_json("'sent'", None, "'failed'", "[]")}, 'sent', cast({START} + n as text) || '.000001', 1, '', case_id,
            null, null, null, null, {START} + n, {START} + n
        from p where n = root and has_case""",
        f"""insert into outbox (key, method, channel, thread_ts, lane, parent, payload, afterwards, state, ts, attempts,
            error, case_id, source_channel, source_ts, conversation, epoch, created_at, sent_at)
        {with_p}
        select 'relay/' || cast(n + 1 as text), 'post', '{AGENTS}', null,
            '/case/' || cast(case_id as text) || '/card', 'case/' || cast(case_id as text) || '/card',
            {_json("'text'", words, "'blocks'", "[]")}, {_json("'sent'", None, "'failed'", "[]")}, 'sent',
            cast({START} + n as text) || '.000002', 1, '', case_id, dm, ts, null, null, {START} + n, {START} + n
        from p where n <> root and has_case""",
        f"""insert into turn (id, thread, episode, ts, customer, agent, ended, reason, messages, sources, posts,
            confidence, input_tokens, output_tokens, finished_at)
        {with_p}
        select n + 1, {key}, 0, ts, user_id, 'answers', 'answered', '', {_said(words)}, {_text("[]")},
            {_posts()}, 0.9, 900, 120, {START} + n
        from p where not has_case""",
        f"""insert into spending (key, at, purpose, team, thread, customer, models, input_tokens, cached_tokens,
            output_tokens, cost, estimated)
        {with_p}
        select 'turn/' || cast(n + 1 as text) || '/small', {START} + n, 'answer', '{TEAM}', {key}, user_id, 'small',
            900, 0, 120, 0.001, false
        from p where not has_case""",
        f"""insert into audit (at, actor, action, subject, detail)
        {with_p}
        select {START} + n, 'U0AGENTA', 'case.claimed', 'FD-' || cast(1000 + case_id as text), {_text("{}")}
        from p where n = root and has_case""",
        f"""insert into feedback (subject, person, value, given_at)
        {with_p}
        select 'turn/' || cast(n + 1 as text), user_id, 'up', {START} + n from p where n <> root and n % 10 = 0""",
    ]


def _eight(column: str) -> str:
    return f"substr('0000000' || cast({column} as text), length(cast({column} as text)))"


def _text(value: str) -> str:
    return f"cast('{value}' as json)" if value else "null"


def _json(name: str, value: str | None, other: str, empty: str) -> str:
    """An object of two fields, the second one empty; without a value, both."""
    first = f"'\"' || {value} || '\"'" if value else f"'{empty}'"
    return f"cast('{{\"' || {name} || '\": ' || {first} || ', \"' || {other} || '\": {empty}}}' as json)"


def _said(words: str) -> str:
    return f'cast(\'[{{"type": "customer", "text": "\' || {words} || \'"}}]\' as json)'


def _posts() -> str:
    return f"cast('[\"' || cast({START} + n as text) || '.000003\"]' as json)"
