# ruff: noqa: S608 - the statements are made of numbers and of constants of this file
"""A desk that has served for years, made by SQL: customers with their messages, answers, cases, posts and costs.

fill        the rows, in one statement a table, on SQLite and on Postgres
customer    the Slack id of one of the customers
message     where one of their messages is

Message n (from 0) is the (n // customers)th of customer n % customers. Five messages make a thread of direct messages,
and every second thread has a case, so that there is one case to ten messages.
"""

from sqlalchemy import text

from bot.conversation import ThreadRef
from bot.store.database import Database, Transaction

TEAM, AGENTS = "T0FRONTDESK", "C0AGENTS"
THREAD_MESSAGES = 5
START = 1_700_000_000
"""When the first message was written; each of the others a second later."""


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
    for statement in _statements(messages, customers):
        async with database.transaction() as tx:
            await tx.execute(text(_in(tx, statement)))
    async with database.transaction() as tx:
        if tx.dialect.name == "postgresql":
            for table in ("inbox", "case_", "outbox", "suggestion"):
                await tx.execute(text(f"select setval(pg_get_serial_sequence('{table}', 'id'), {2 * messages})"))
            # A server does so by itself after a while; of SQLite nobody asks it.
            await tx.execute(text("analyze"))


def _in(tx: Transaction, statement: str) -> str:
    """The statement in the database's dialect: numbers from 0, and numbers as text of eight digits."""
    if tx.dialect.name == "sqlite":
        return statement.replace("as json)", "as text)")
    series = "n(n) as (select generate_series(0, {count} - 1))"
    head, _, rest = statement.partition("n(n) as (")
    count = rest.partition(" < ")[2].partition(" - 1)")[0]
    return head.replace("recursive ", "") + series.format(count=count) + rest.partition(" - 1)")[2]


def _statements(messages: int, customers: int) -> list[str]:
    numbers = f"with recursive n(n) as (select 0 union all select n + 1 from n where n < {messages} - 1), "
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
            attempts, fence, handed, wish, received_at, finished_at)
        {with_p}
        select n + 1, 'Ev' || cast(n as text), '{TEAM}', dm, ts, 'message', {key}, user_id, '{TEAM}',
            {_json("'text'", words, "'files'", "[]")}, 'done', 'answered', 1, 1, true, '', {START} + n, {START} + n
        from p""",
        f"""insert into thread (key, team, channel, ts, agent, language, episode, note, hands, opened_at)
        {with_p}
        select {key}, '{TEAM}', dm, ts, 'answers', 'en', 0, '', 0, {START} + n from p where n = root""",
        f"""insert into case_ (id, team, thread, channel, thread_ts, customer, customer_name, standing, link, language,
            state, version, reason, priority, title, summary, owner, owner_name, opened_at, claimed_at, ended_at, desk,
            waiting_since, due, step, keeps_helping, reopened, outcome, cause)
        {with_p}
        select case_id, '{TEAM}', {key}, dm, ts, user_id, 'Customer', 'member', '', 'en', 'closed', 3,
            'asked_for_person', 'medium', {words}, '', 'U0AGENTA', 'Agent A', {START} + n, {START} + n, {START} + n, '',
            {START} + n, null, 0, false, 0, 'solved', ''
        from p where n = root and has_case""",
        f"""insert into outbox (key, method, channel, thread_ts, lane, parent, payload, afterwards, state, ts, attempts,
            error, case_id, source_channel, source_ts, conversation, hands, created_at, sent_at)
        {with_p}
        select 'case/' || cast(case_id as text) || '/card', 'post', '{AGENTS}', null,
            '/case/' || cast(case_id as text) || '/card', null, {_json("'text'", words, "'blocks'", "[]")},
            {_json("'sent'", None, "'failed'", "[]")}, 'sent', cast({START} + n as text) || '.000001', 1, '', case_id,
            null, null, null, null, {START} + n, {START} + n
        from p where n = root and has_case""",
        f"""insert into outbox (key, method, channel, thread_ts, lane, parent, payload, afterwards, state, ts, attempts,
            error, case_id, source_channel, source_ts, conversation, hands, created_at, sent_at)
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
