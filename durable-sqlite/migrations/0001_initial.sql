-- The first schema. All points in time are integer microseconds since the Unix epoch, except where a
-- column says milliseconds. Payloads and every free text are BLOBs: a NUL must survive.
-- Status numbers: 0 runnable, 1 executing, 2 waiting, 3 blocked, 4 dead-lettered, 10 completed,
-- 11 failed, 12 canceled, 13 terminated, 14 timed out; below 10 is open. A run
-- that went on in a later one has 15, which no instance has.

CREATE TABLE instances (
    -- identity
    id                      INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow_id             TEXT    NOT NULL,
    workflow_type           TEXT    NOT NULL,
    input_digest            BLOB    NOT NULL,
    request_id              BLOB    NOT NULL,
    current_run             BLOB    NOT NULL,
    run_number              INTEGER NOT NULL,
    -- scheduling
    status                  INTEGER NOT NULL CHECK (status IN (0, 1, 2, 3, 4, 10, 11, 12, 13, 14)),
    queue                   TEXT    NOT NULL,
    priority                INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    eligible_at             INTEGER NOT NULL,
    wake_at                 INTEGER,
    -- claim
    locked_by               BLOB,
    lease_expires_at        INTEGER,
    epoch                   INTEGER NOT NULL DEFAULT 0,
    claims_without_progress INTEGER NOT NULL DEFAULT 0,
    owner_lost              INTEGER NOT NULL DEFAULT 0,
    -- commit
    next_event_id           INTEGER NOT NULL,
    last_flush              BLOB,
    -- inbox
    inbox_seq               INTEGER NOT NULL DEFAULT 0,
    inbox_seen              INTEGER NOT NULL DEFAULT 0,
    -- trouble
    blocked_reason          BLOB,
    blocked_build           TEXT,
    blocked_attempts        INTEGER NOT NULL DEFAULT 0,
    dead_letter_reason      BLOB,
    -- end
    outcome                 BLOB,
    -- admission
    concurrency_key         TEXT,
    concurrency_shard       INTEGER,
    slot_holder             INTEGER,
    rate_limit              TEXT,
    weight                  INTEGER NOT NULL DEFAULT 1,
    -- coordination
    awaits                  BLOB,
    await_deadline          INTEGER,
    run_deadline            INTEGER,
    parent_id               INTEGER REFERENCES instances (id) ON DELETE SET NULL,
    parent_command          INTEGER,
    children_pending        INTEGER NOT NULL DEFAULT 0,
    correlation_key         TEXT,
    correlation_scope       INTEGER NOT NULL DEFAULT 0,
    correlation_guard       TEXT GENERATED ALWAYS AS
        (CASE WHEN correlation_scope & (1 << status) THEN correlation_key END) STORED,
    -- bookkeeping
    created_at              INTEGER NOT NULL,
    updated_at              INTEGER NOT NULL,
    closed_at               INTEGER,
    CHECK ((status = 1) = (locked_by IS NOT NULL)),
    CHECK ((status = 1) = (lease_expires_at IS NOT NULL))
);

CREATE UNIQUE INDEX instances_open_workflow_id ON instances (workflow_id) WHERE status < 10;
CREATE UNIQUE INDEX instances_correlation ON instances (correlation_guard) WHERE correlation_guard IS NOT NULL;
CREATE UNIQUE INDEX instances_slot ON instances (slot_holder, concurrency_key) WHERE slot_holder IS NOT NULL;
CREATE UNIQUE INDEX instances_request ON instances (request_id);
CREATE INDEX instances_workflow_id ON instances (workflow_id, id);
CREATE INDEX instances_pick ON instances (queue, priority, eligible_at, id) WHERE status = 0;
CREATE INDEX instances_lease ON instances (lease_expires_at) WHERE status = 1;
CREATE INDEX instances_owner ON instances (locked_by) WHERE status = 1;
CREATE INDEX instances_wake ON instances (wake_at) WHERE status IN (2, 3) AND wake_at IS NOT NULL;
CREATE INDEX instances_blocked ON instances (blocked_build) WHERE status = 3;
CREATE INDEX instances_parent ON instances (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE runs (
    run_id          BLOB PRIMARY KEY NOT NULL,
    instance_id     INTEGER NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    seed            BLOB    NOT NULL,
    start_snapshot  BLOB,
    -- NULL while the run is open
    status          INTEGER,
    outcome         BLOB,
    started_at      INTEGER NOT NULL,
    closed_at       INTEGER,
    UNIQUE (instance_id, number)
);

CREATE TABLE history (
    run_id          BLOB    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    first_event_id  INTEGER NOT NULL,
    next_event_id   INTEGER NOT NULL CHECK (next_event_id > first_event_id),
    bytes           BLOB    NOT NULL,
    PRIMARY KEY (run_id, first_event_id)
);

-- kind: 1 outcome of an activity, 2 cancel request
CREATE TABLE inbox (
    instance_id     INTEGER NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,
    kind            INTEGER NOT NULL,
    name            TEXT,
    body            BLOB    NOT NULL,
    dedup_key       BLOB,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (instance_id, seq)
);

-- Outlives the consumption of its message, until the instance closes (G5).
CREATE TABLE inbox_dedup (
    instance_id     INTEGER NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
    dedup_key       BLOB    NOT NULL,
    PRIMARY KEY (instance_id, dedup_key)
) WITHOUT ROWID;

-- status: 0 runnable, 1 executing
CREATE TABLE activities (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    instance_id       INTEGER NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
    run_id            BLOB    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    command_id        INTEGER NOT NULL,
    activity_type     TEXT    NOT NULL,
    queue             TEXT    NOT NULL,
    priority          INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    eligible_at       INTEGER NOT NULL,
    status            INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0, 1)),
    locked_by         BLOB,
    lease_expires_at  INTEGER,
    epoch             INTEGER NOT NULL DEFAULT 0,
    attempts          INTEGER NOT NULL,
    lost              INTEGER NOT NULL,
    backoff_due       INTEGER NOT NULL DEFAULT 0,
    deadline          INTEGER,
    task              BLOB    NOT NULL,
    last_failure      BLOB,
    concurrency_key   TEXT,
    concurrency_shard INTEGER,
    slot_holder       INTEGER,
    rate_limit        TEXT,
    weight            INTEGER NOT NULL DEFAULT 1,
    heartbeat_details BLOB,
    heartbeat_at      INTEGER,
    created_at        INTEGER NOT NULL,
    UNIQUE (run_id, command_id),
    CHECK ((status = 1) = (locked_by IS NOT NULL)),
    CHECK ((status = 1) = (lease_expires_at IS NOT NULL))
);

CREATE INDEX activities_pick ON activities (queue, priority, eligible_at, id, activity_type) WHERE status = 0;
CREATE INDEX activities_deadline ON activities (queue, deadline) WHERE status = 0 AND deadline IS NOT NULL;
CREATE INDEX activities_lease ON activities (lease_expires_at) WHERE status = 1;
CREATE INDEX activities_owner ON activities (locked_by) WHERE status = 1;
CREATE INDEX activities_instance ON activities (instance_id);
CREATE UNIQUE INDEX activities_slot ON activities (slot_holder, concurrency_key) WHERE slot_holder IS NOT NULL;

CREATE TABLE workers (
    incarnation     BLOB PRIMARY KEY NOT NULL,
    slot            TEXT    NOT NULL,
    build           TEXT    NOT NULL,
    registered_at   INTEGER NOT NULL
);

CREATE INDEX workers_slot ON workers (slot);

-- The merged key-values at the last run boundary, and the open run's changes over them.
CREATE TABLE kv_store (
    instance_id         INTEGER NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
    key                 TEXT    NOT NULL,
    value               BLOB    NOT NULL,
    last_updated_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (instance_id, key)
);

CREATE TABLE kv_delta (
    instance_id         INTEGER NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
    key                 TEXT    NOT NULL,
    -- NULL is a tombstone
    value               BLOB,
    last_updated_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (instance_id, key)
);

-- Limits: policies and their counters. scope: 0 workflows, 1 activities; it is part of a key.
CREATE TABLE concurrency_configs (
    scope           INTEGER NOT NULL CHECK (scope IN (0, 1)),
    key             TEXT    NOT NULL,
    cap             INTEGER NOT NULL CHECK (cap >= 0),
    shards          INTEGER NOT NULL CHECK (shards >= 1),
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
);

CREATE TABLE concurrency_buckets (
    scope           INTEGER NOT NULL CHECK (scope IN (0, 1)),
    key             TEXT    NOT NULL,
    shard           INTEGER NOT NULL CHECK (shard >= 0),
    cap             INTEGER NOT NULL CHECK (cap >= 0),
    available       INTEGER NOT NULL CHECK (0 <= available AND available <= cap),
    debt            INTEGER NOT NULL DEFAULT 0 CHECK (debt >= 0),
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (scope, key, shard)
);

-- Tokens are counted in millionths, so that a lazy refill loses nothing to rounding.
CREATE TABLE rate_configs (
    name                TEXT PRIMARY KEY NOT NULL,
    tokens_per_second   REAL    NOT NULL CHECK (tokens_per_second > 0),
    burst               INTEGER NOT NULL CHECK (burst >= 1),
    updated_at          INTEGER NOT NULL
);

CREATE TABLE rate_buckets (
    name                TEXT    NOT NULL REFERENCES rate_configs (name) ON DELETE CASCADE,
    key                 TEXT    NOT NULL,
    micro_tokens        INTEGER NOT NULL CHECK (micro_tokens >= 0),
    refilled_at         INTEGER NOT NULL,
    PRIMARY KEY (name, key)
);

CREATE INDEX rate_buckets_idle ON rate_buckets (refilled_at);
