
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, 
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE audit (
    id BIGSERIAL NOT NULL, 
    at FLOAT NOT NULL, 
    actor VARCHAR(32) NOT NULL, 
    action VARCHAR(64) NOT NULL, 
    subject VARCHAR(160) NOT NULL, 
    detail JSON NOT NULL, 
    CONSTRAINT pk_audit PRIMARY KEY (id)
);

CREATE INDEX ix_audit_subject ON audit (subject);

CREATE TABLE case_ (
    id BIGSERIAL NOT NULL, 
    team VARCHAR(32) NOT NULL, 
    thread VARCHAR(128) NOT NULL, 
    channel VARCHAR(32) NOT NULL, 
    thread_ts VARCHAR(32) NOT NULL, 
    customer VARCHAR(32) NOT NULL, 
    customer_name VARCHAR(120) NOT NULL, 
    standing VARCHAR(16) NOT NULL, 
    link VARCHAR(255) DEFAULT '' NOT NULL, 
    language VARCHAR(8) NOT NULL, 
    state VARCHAR(16) NOT NULL, 
    version INTEGER DEFAULT '1' NOT NULL, 
    reason VARCHAR(64) NOT NULL, 
    priority VARCHAR(8) NOT NULL, 
    title VARCHAR(160) NOT NULL, 
    summary TEXT NOT NULL, 
    owner VARCHAR(32), 
    owner_name VARCHAR(120), 
    opened_at FLOAT NOT NULL, 
    claimed_at FLOAT, 
    ended_at FLOAT, 
    CONSTRAINT pk_case_ PRIMARY KEY (id)
);

CREATE INDEX ix_case_state ON case_ (state, opened_at);

CREATE UNIQUE INDEX uq_case_open_thread ON case_ (thread) WHERE state in ('waiting', 'human');

CREATE TABLE feedback (
    subject VARCHAR(64) NOT NULL, 
    person VARCHAR(32) NOT NULL, 
    value VARCHAR(16) NOT NULL, 
    given_at FLOAT NOT NULL, 
    CONSTRAINT pk_feedback PRIMARY KEY (subject, person)
);

CREATE TABLE inbox (
    id BIGSERIAL NOT NULL, 
    event_id VARCHAR(255) NOT NULL, 
    team VARCHAR(32) NOT NULL, 
    channel VARCHAR(32) NOT NULL, 
    ts VARCHAR(32) COLLATE "C" NOT NULL, 
    kind VARCHAR(16) NOT NULL, 
    thread VARCHAR(128) NOT NULL, 
    author VARCHAR(32) NOT NULL, 
    author_team VARCHAR(32) NOT NULL, 
    body JSON NOT NULL, 
    state VARCHAR(16) NOT NULL, 
    reason VARCHAR(64) DEFAULT '' NOT NULL, 
    attempts INTEGER DEFAULT '0' NOT NULL, 
    received_at FLOAT NOT NULL, 
    finished_at FLOAT, 
    CONSTRAINT pk_inbox PRIMARY KEY (id), 
    CONSTRAINT uq_inbox_event_id UNIQUE (event_id)
);

CREATE INDEX ix_inbox_open ON inbox (state, id);

CREATE INDEX ix_inbox_thread ON inbox (thread, id);

CREATE UNIQUE INDEX uq_inbox_message ON inbox (team, channel, ts, kind);

CREATE TABLE thread (
    key VARCHAR(128) NOT NULL, 
    team VARCHAR(32) NOT NULL, 
    channel VARCHAR(32) NOT NULL, 
    ts VARCHAR(32) COLLATE "C" NOT NULL, 
    agent VARCHAR(64) DEFAULT '' NOT NULL, 
    language VARCHAR(8) DEFAULT '' NOT NULL, 
    episode INTEGER DEFAULT '0' NOT NULL, 
    note TEXT DEFAULT '' NOT NULL, 
    opened_at FLOAT NOT NULL, 
    CONSTRAINT pk_thread PRIMARY KEY (key)
);

CREATE TABLE journal (
    turn BIGINT NOT NULL, 
    name VARCHAR(128) NOT NULL, 
    attempt INTEGER NOT NULL, 
    value JSON NOT NULL, 
    recorded_at FLOAT NOT NULL, 
    CONSTRAINT pk_journal PRIMARY KEY (turn, name), 
    CONSTRAINT fk_journal_turn FOREIGN KEY(turn) REFERENCES inbox (id)
);

CREATE TABLE outbox (
    id BIGSERIAL NOT NULL, 
    key VARCHAR(160) NOT NULL, 
    method VARCHAR(16) NOT NULL, 
    channel VARCHAR(32) NOT NULL, 
    thread_ts VARCHAR(32), 
    parent VARCHAR(160), 
    payload JSON NOT NULL, 
    afterwards JSON NOT NULL, 
    state VARCHAR(16) NOT NULL, 
    ts VARCHAR(32) COLLATE "C", 
    attempts INTEGER DEFAULT '0' NOT NULL, 
    error VARCHAR(160) DEFAULT '' NOT NULL, 
    case_id BIGINT, 
    source_channel VARCHAR(32), 
    source_ts VARCHAR(32), 
    created_at FLOAT NOT NULL, 
    sent_at FLOAT, 
    CONSTRAINT pk_outbox PRIMARY KEY (id), 
    CONSTRAINT fk_outbox_case_id FOREIGN KEY(case_id) REFERENCES case_ (id), 
    CONSTRAINT uq_outbox_key UNIQUE (key)
);

CREATE INDEX ix_outbox_place ON outbox (channel, ts);

CREATE INDEX ix_outbox_state ON outbox (state, id);

CREATE TABLE turn (
    id BIGINT NOT NULL, 
    thread VARCHAR(128) NOT NULL, 
    episode INTEGER NOT NULL, 
    ts VARCHAR(32) COLLATE "C" NOT NULL, 
    customer VARCHAR(32) NOT NULL, 
    agent VARCHAR(64) NOT NULL, 
    ended VARCHAR(16) NOT NULL, 
    reason VARCHAR(64) DEFAULT '' NOT NULL, 
    messages JSON NOT NULL, 
    sources JSON NOT NULL, 
    confidence FLOAT DEFAULT '0' NOT NULL, 
    input_tokens INTEGER DEFAULT '0' NOT NULL, 
    output_tokens INTEGER DEFAULT '0' NOT NULL, 
    finished_at FLOAT NOT NULL, 
    CONSTRAINT pk_turn PRIMARY KEY (id, thread), 
    CONSTRAINT fk_turn_id FOREIGN KEY(id) REFERENCES inbox (id)
);

CREATE INDEX ix_turn_thread ON turn (thread, episode, ts);

INSERT INTO alembic_version (version_num) VALUES ('0001') RETURNING alembic_version.version_num;

CREATE TABLE spending (
    key VARCHAR(200) NOT NULL, 
    at FLOAT NOT NULL, 
    purpose VARCHAR(16) NOT NULL, 
    team VARCHAR(32) NOT NULL, 
    thread VARCHAR(128) NOT NULL, 
    customer VARCHAR(32) NOT NULL, 
    models VARCHAR(255) NOT NULL, 
    input_tokens INTEGER NOT NULL, 
    cached_tokens INTEGER NOT NULL, 
    output_tokens INTEGER NOT NULL, 
    cost FLOAT NOT NULL, 
    estimated BOOLEAN NOT NULL, 
    CONSTRAINT pk_spending PRIMARY KEY (key)
);

CREATE INDEX ix_spending_customer ON spending (customer, at);

CREATE INDEX ix_spending_at ON spending (at);

CREATE INDEX ix_spending_thread ON spending (thread);

CREATE TABLE pace (
    key VARCHAR(128) NOT NULL, 
    until FLOAT NOT NULL, 
    CONSTRAINT pk_pace PRIMARY KEY (key)
);

ALTER TABLE turn ADD COLUMN trace JSON;

CREATE TABLE summary (
    thread VARCHAR(128) NOT NULL, 
    episode INTEGER NOT NULL, 
    through VARCHAR(32) COLLATE "C" NOT NULL, 
    text TEXT NOT NULL, 
    made_at FLOAT NOT NULL, 
    CONSTRAINT pk_summary PRIMARY KEY (thread, episode, through)
);

CREATE TABLE draft (
    case_id BIGINT NOT NULL, 
    asked BIGINT NOT NULL, 
    number INTEGER NOT NULL, 
    text TEXT NOT NULL, 
    made_at FLOAT NOT NULL, 
    CONSTRAINT pk_draft PRIMARY KEY (case_id, asked, number), 
    CONSTRAINT fk_draft_case_id_case_ FOREIGN KEY(case_id) REFERENCES case_ (id)
);

UPDATE alembic_version SET version_num='0002' WHERE alembic_version.version_num = '0001';

CREATE TABLE schedule (
    name VARCHAR(64) NOT NULL, 
    rule VARCHAR(120) NOT NULL, 
    due FLOAT NOT NULL, 
    CONSTRAINT pk_schedule PRIMARY KEY (name)
);

UPDATE alembic_version SET version_num='0003' WHERE alembic_version.version_num = '0002';

ALTER TABLE inbox ADD COLUMN wish VARCHAR(16) DEFAULT '' NOT NULL;

ALTER TABLE inbox ADD COLUMN fence INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE inbox ADD COLUMN handed BOOLEAN DEFAULT false NOT NULL;

ALTER TABLE turn ADD COLUMN posts JSON;

ALTER TABLE outbox ADD COLUMN lane VARCHAR(200) DEFAULT '' NOT NULL;

CREATE INDEX ix_outbox_lane ON outbox (channel, lane, state, id);

CREATE TABLE member (
    id VARCHAR(96) NOT NULL, 
    role VARCHAR(16) NOT NULL, 
    started_at FLOAT NOT NULL, 
    until FLOAT NOT NULL, 
    CONSTRAINT pk_member PRIMARY KEY (id)
);

CREATE TABLE claim (
    name VARCHAR(160) NOT NULL, 
    owner VARCHAR(96) NOT NULL, 
    CONSTRAINT pk_claim PRIMARY KEY (name)
);

CREATE TABLE alias (
    name VARCHAR(64) NOT NULL, 
    target VARCHAR(160) NOT NULL, 
    set_by VARCHAR(96) NOT NULL, 
    set_at FLOAT NOT NULL, 
    CONSTRAINT pk_alias PRIMARY KEY (name)
);

UPDATE alembic_version SET version_num='0004' WHERE alembic_version.version_num = '0003';

ALTER TABLE case_ ADD COLUMN desk VARCHAR(32) DEFAULT '' NOT NULL;

ALTER TABLE case_ ADD COLUMN waiting_since FLOAT;

ALTER TABLE case_ ADD COLUMN due FLOAT;

ALTER TABLE case_ ADD COLUMN step INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE case_ ADD COLUMN keeps_helping BOOLEAN DEFAULT false NOT NULL;

ALTER TABLE case_ ADD COLUMN replied_at FLOAT;

ALTER TABLE case_ ADD COLUMN reopened INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE case_ ADD COLUMN last_owner VARCHAR(32);

ALTER TABLE case_ ADD COLUMN outcome VARCHAR(32) DEFAULT '' NOT NULL;

ALTER TABLE case_ ADD COLUMN cause VARCHAR(32) DEFAULT '' NOT NULL;

ALTER TABLE case_ ADD COLUMN follows BIGINT;

ALTER TABLE case_ ADD COLUMN merged_into BIGINT;

update case_ set waiting_since = opened_at;

DROP INDEX uq_case_open_thread;

CREATE UNIQUE INDEX uq_case_open_thread ON case_ (thread) WHERE state in ('waiting', 'away', 'human');

CREATE INDEX ix_case_due ON case_ (due);

CREATE TABLE case_helper (
    case_id BIGINT NOT NULL, 
    person VARCHAR(32) NOT NULL, 
    name VARCHAR(120) NOT NULL, 
    joined_at FLOAT NOT NULL, 
    CONSTRAINT pk_case_helper PRIMARY KEY (case_id, person), 
    CONSTRAINT fk_case_helper_case_id FOREIGN KEY(case_id) REFERENCES case_ (id)
);

CREATE TABLE suggestion (
    id BIGSERIAL NOT NULL, 
    key VARCHAR(160) NOT NULL, 
    case_id BIGINT, 
    title VARCHAR(160) NOT NULL, 
    question TEXT NOT NULL, 
    answer TEXT NOT NULL, 
    state VARCHAR(16) NOT NULL, 
    version INTEGER DEFAULT '1' NOT NULL, 
    close_to VARCHAR(255) DEFAULT '' NOT NULL, 
    likeness FLOAT DEFAULT '0' NOT NULL, 
    contradicts BOOLEAN DEFAULT false NOT NULL, 
    asked_by VARCHAR(32) NOT NULL, 
    made_at FLOAT NOT NULL, 
    decided_by VARCHAR(32), 
    decided_at FLOAT, 
    reason VARCHAR(64) DEFAULT '' NOT NULL, 
    CONSTRAINT pk_suggestion PRIMARY KEY (id), 
    CONSTRAINT fk_suggestion_case_id FOREIGN KEY(case_id) REFERENCES case_ (id), 
    CONSTRAINT uq_suggestion_key UNIQUE (key)
);

CREATE TABLE pause (
    channel VARCHAR(32) NOT NULL, 
    by VARCHAR(32) NOT NULL, 
    at FLOAT NOT NULL, 
    CONSTRAINT pk_pause PRIMARY KEY (channel)
);

CREATE TABLE preference (
    person VARCHAR(32) NOT NULL, 
    language VARCHAR(8) DEFAULT '' NOT NULL, 
    CONSTRAINT pk_preference PRIMARY KEY (person)
);

UPDATE alembic_version SET version_num='0005' WHERE alembic_version.version_num = '0004';

CREATE TABLE file_copy (
    post VARCHAR(160) NOT NULL, 
    source VARCHAR(32) NOT NULL, 
    copy VARCHAR(32) DEFAULT '' NOT NULL, 
    refusal VARCHAR(32) DEFAULT '' NOT NULL, 
    shared BOOLEAN DEFAULT false NOT NULL, 
    CONSTRAINT pk_file_copy PRIMARY KEY (post, source)
);

UPDATE alembic_version SET version_num='0006' WHERE alembic_version.version_num = '0005';

CREATE INDEX ix_inbox_received ON inbox (received_at);

CREATE INDEX ix_outbox_relayed ON outbox (created_at) WHERE source_ts is not null;

CREATE INDEX ix_case_opened ON case_ (opened_at);

CREATE INDEX ix_feedback_given ON feedback (given_at);

CREATE INDEX ix_audit_action ON audit (action, at);

update case_ set due = coalesce(waiting_since, opened_at), version = version + 1 where due is null and step = 0 and state in ('waiting', 'away');

update case_ set due = coalesce(ended_at, opened_at) + 7 * 86400.0, version = version + 1 where due is null and state = 'resolved';

UPDATE alembic_version SET version_num='0007' WHERE alembic_version.version_num = '0006';

ALTER TABLE thread ADD COLUMN hands INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE outbox ADD COLUMN conversation VARCHAR(128);

ALTER TABLE outbox ADD COLUMN hands INTEGER;

UPDATE alembic_version SET version_num='0008' WHERE alembic_version.version_num = '0007';

ALTER TABLE outbox ALTER COLUMN key TYPE VARCHAR(160) COLLATE "C";

ALTER TABLE outbox ALTER COLUMN lane TYPE VARCHAR(200) COLLATE "C";

CREATE INDEX ix_inbox_author ON inbox (author, id);

CREATE INDEX ix_inbox_place ON inbox (channel, ts);

CREATE INDEX ix_turn_customer ON turn (customer);

CREATE INDEX ix_case_thread ON case_ (thread);

CREATE INDEX ix_case_customer ON case_ (customer);

CREATE INDEX ix_case_merged ON case_ (merged_into);

CREATE INDEX ix_case_claimed ON case_ (claimed_at);

CREATE INDEX ix_outbox_case ON outbox (case_id, id);

CREATE INDEX ix_outbox_parent ON outbox (parent);

CREATE INDEX ix_outbox_thread ON outbox (channel, thread_ts);

CREATE INDEX ix_outbox_source ON outbox (source_channel, source_ts);

CREATE INDEX ix_suggestion_case ON suggestion (case_id);

CREATE INDEX ix_feedback_person ON feedback (person);

UPDATE alembic_version SET version_num='0009' WHERE alembic_version.version_num = '0008';

ALTER TABLE turn ADD COLUMN failures JSON;

UPDATE alembic_version SET version_num='0010' WHERE alembic_version.version_num = '0009';

