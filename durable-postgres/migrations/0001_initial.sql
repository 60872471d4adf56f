-- The first schema, in the schema that the options name (`durable.` stands for it here and in `sql/`). All points in
-- time are integer microseconds since the Unix epoch, except where a column says milliseconds. Payloads and every free
-- text are BYTEA: a NUL must survive. Names compare by their bytes (COLLATE "C"), whatever the database's locale.
-- Status numbers: 0 runnable, 1 executing, 2 waiting, 3 blocked, 4 dead-lettered, 10 completed,
-- 11 failed, 12 canceled, 13 terminated, 14 timed out; below 10 is open. A run
-- that went on in a later one has 15, which no instance has.

CREATE TABLE durable.instances (
    -- identity
    id                      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id             TEXT COLLATE "C" NOT NULL,
    workflow_type           TEXT COLLATE "C" NOT NULL,
    input_digest            BYTEA NOT NULL,
    request_id              UUID NOT NULL,
    current_run             UUID NOT NULL,
    run_number              INTEGER NOT NULL,
    -- scheduling
    status                  SMALLINT NOT NULL CHECK (status IN (0, 1, 2, 3, 4, 10, 11, 12, 13, 14)),
    queue                   TEXT COLLATE "C" NOT NULL,
    priority                SMALLINT NOT NULL CHECK (priority BETWEEN 0 AND 9),
    eligible_at             BIGINT NOT NULL,
    wake_at                 BIGINT,
    -- claim
    locked_by               UUID,
    lease_expires_at        BIGINT,
    epoch                   BIGINT NOT NULL DEFAULT 0,
    claims_without_progress INTEGER NOT NULL DEFAULT 0,
    owner_lost              BOOLEAN NOT NULL DEFAULT FALSE,
    -- commit
    next_event_id           BIGINT NOT NULL,
    last_flush              UUID,
    -- inbox
    inbox_seq               BIGINT NOT NULL DEFAULT 0,
    inbox_seen              BIGINT NOT NULL DEFAULT 0,
    -- trouble
    blocked_reason          BYTEA,
    blocked_build           TEXT COLLATE "C",
    blocked_attempts        INTEGER NOT NULL DEFAULT 0,
    dead_letter_reason      BYTEA,
    -- end
    outcome                 BYTEA,
    -- admission
    concurrency_key         TEXT COLLATE "C",
    concurrency_shard       INTEGER,
    slot_holder             BIGINT,
    rate_limit              TEXT COLLATE "C",
    weight                  INTEGER NOT NULL DEFAULT 1,
    -- coordination
    awaits                  BYTEA,
    await_deadline          BIGINT,
    run_deadline            BIGINT,
    parent_id               BIGINT REFERENCES durable.instances (id) ON DELETE SET NULL,
    parent_command          BIGINT,
    children_pending        INTEGER NOT NULL DEFAULT 0,
    correlation_key         TEXT COLLATE "C",
    correlation_scope       INTEGER NOT NULL DEFAULT 0,
    correlation_guard       TEXT COLLATE "C" GENERATED ALWAYS AS
        (CASE WHEN correlation_scope & (1 << status::INTEGER) <> 0 THEN correlation_key END) STORED,
    -- bookkeeping
    created_at              BIGINT NOT NULL,
    updated_at              BIGINT NOT NULL,
    closed_at               BIGINT,
    CHECK ((status = 1) = (locked_by IS NOT NULL)),
    CHECK ((status = 1) = (lease_expires_at IS NOT NULL))
);

-- No two partial indexes have the same predicate: before a table has statistics they cost the same, and a plan cached
-- then would walk one of them for the other's key.
-- The only full unique index of a hot table is its immutable primary key: an UPDATE that changes a column of one would
-- take its row FOR UPDATE, and so wait for the FOR KEY SHARE of every foreign key check. Hence the predicates that
-- are always true.
CREATE UNIQUE INDEX instances_open_workflow_id ON durable.instances (workflow_id) WHERE status < 10;
CREATE UNIQUE INDEX instances_correlation ON durable.instances (correlation_guard) WHERE correlation_guard IS NOT NULL;
CREATE UNIQUE INDEX instances_slot ON durable.instances (slot_holder, concurrency_key) WHERE slot_holder IS NOT NULL;
CREATE UNIQUE INDEX instances_request ON durable.instances (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX instances_workflow_id ON durable.instances (workflow_id);
CREATE INDEX instances_pick ON durable.instances (queue, priority, eligible_at, id) WHERE status = 0;
CREATE INDEX instances_lease ON durable.instances (lease_expires_at)
    WHERE status = 1 AND lease_expires_at IS NOT NULL;
CREATE INDEX instances_owner ON durable.instances (locked_by) WHERE status = 1 AND locked_by IS NOT NULL;
CREATE INDEX instances_wake ON durable.instances (wake_at) WHERE status IN (2, 3) AND wake_at IS NOT NULL;
CREATE INDEX instances_blocked ON durable.instances (blocked_build) WHERE status = 3;
CREATE INDEX instances_parent ON durable.instances (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE durable.runs (
    run_id          UUID PRIMARY KEY,
    instance_id     BIGINT NOT NULL REFERENCES durable.instances (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    seed            UUID NOT NULL,
    start_snapshot  BYTEA,
    -- NULL while the run is open
    status          SMALLINT,
    outcome         BYTEA,
    started_at      BIGINT NOT NULL,
    closed_at       BIGINT
);

CREATE UNIQUE INDEX runs_number ON durable.runs (instance_id, number) WHERE number IS NOT NULL;

CREATE TABLE durable.history (
    run_id          UUID NOT NULL REFERENCES durable.runs (run_id) ON DELETE CASCADE,
    first_event_id  BIGINT NOT NULL,
    next_event_id   BIGINT NOT NULL CHECK (next_event_id > first_event_id),
    bytes           BYTEA NOT NULL,
    PRIMARY KEY (run_id, first_event_id)
);

-- kind: 1 outcome of an activity, 2 cancel request
CREATE TABLE durable.inbox (
    instance_id     BIGINT NOT NULL REFERENCES durable.instances (id) ON DELETE CASCADE,
    seq             BIGINT NOT NULL,
    kind            SMALLINT NOT NULL,
    name            TEXT COLLATE "C",
    body            BYTEA NOT NULL,
    dedup_key       BYTEA,
    created_at      BIGINT NOT NULL,
    PRIMARY KEY (instance_id, seq)
);

-- Outlives the consumption of its message, until the instance closes (G5).
CREATE TABLE durable.inbox_dedup (
    instance_id     BIGINT NOT NULL REFERENCES durable.instances (id) ON DELETE CASCADE,
    dedup_key       BYTEA NOT NULL,
    PRIMARY KEY (instance_id, dedup_key)
);

-- status: 0 runnable, 1 executing
CREATE TABLE durable.activities (
    id                BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance_id       BIGINT NOT NULL REFERENCES durable.instances (id) ON DELETE CASCADE,
    run_id            UUID NOT NULL REFERENCES durable.runs (run_id) ON DELETE CASCADE,
    command_id        BIGINT NOT NULL,
    activity_type     TEXT COLLATE "C" NOT NULL,
    queue             TEXT COLLATE "C" NOT NULL,
    priority          SMALLINT NOT NULL CHECK (priority BETWEEN 0 AND 9),
    eligible_at       BIGINT NOT NULL,
    status            SMALLINT NOT NULL DEFAULT 0 CHECK (status IN (0, 1)),
    locked_by         UUID,
    lease_expires_at  BIGINT,
    epoch             BIGINT NOT NULL DEFAULT 0,
    attempts          INTEGER NOT NULL,
    lost              INTEGER NOT NULL,
    backoff_due       BOOLEAN NOT NULL DEFAULT FALSE,
    deadline          BIGINT,
    task              BYTEA NOT NULL,
    last_failure      BYTEA,
    concurrency_key   TEXT COLLATE "C",
    concurrency_shard INTEGER,
    slot_holder       BIGINT,
    rate_limit        TEXT COLLATE "C",
    weight            INTEGER NOT NULL DEFAULT 1,
    heartbeat_details BYTEA,
    heartbeat_at      BIGINT,
    created_at        BIGINT NOT NULL,
    CHECK ((status = 1) = (locked_by IS NOT NULL)),
    CHECK ((status = 1) = (lease_expires_at IS NOT NULL))
);

CREATE UNIQUE INDEX activities_command ON durable.activities (run_id, command_id) WHERE command_id IS NOT NULL;
CREATE INDEX activities_pick ON durable.activities (queue, priority, eligible_at, id, activity_type) WHERE status = 0;
CREATE INDEX activities_deadline ON durable.activities (queue, deadline) WHERE status = 0 AND deadline IS NOT NULL;
CREATE INDEX activities_lease ON durable.activities (lease_expires_at)
    WHERE status = 1 AND lease_expires_at IS NOT NULL;
CREATE INDEX activities_owner ON durable.activities (locked_by) WHERE status = 1 AND locked_by IS NOT NULL;
CREATE INDEX activities_instance ON durable.activities (instance_id);
CREATE UNIQUE INDEX activities_slot ON durable.activities (slot_holder, concurrency_key) WHERE slot_holder IS NOT NULL;

CREATE TABLE durable.workers (
    incarnation     UUID PRIMARY KEY,
    slot            TEXT COLLATE "C" NOT NULL,
    build           TEXT COLLATE "C" NOT NULL,
    registered_at   BIGINT NOT NULL,
    -- when a successor took the slot's lock; what the worker still holds is freed one takeover delay later
    superseded_at   BIGINT
);

CREATE INDEX workers_slot ON durable.workers (slot);
CREATE INDEX workers_superseded ON durable.workers (superseded_at) WHERE superseded_at IS NOT NULL;

-- The merged key-values at the last run boundary, and the open run's changes over them.
CREATE TABLE durable.kv_store (
    instance_id         BIGINT NOT NULL REFERENCES durable.instances (id) ON DELETE CASCADE,
    key                 TEXT COLLATE "C" NOT NULL,
    value               BYTEA NOT NULL,
    last_updated_at_ms  BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
);

CREATE TABLE durable.kv_delta (
    instance_id         BIGINT NOT NULL REFERENCES durable.instances (id) ON DELETE CASCADE,
    key                 TEXT COLLATE "C" NOT NULL,
    -- NULL is a tombstone
    value               BYTEA,
    last_updated_at_ms  BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
);

-- Limits: policies and their counters. scope: 0 workflows, 1 activities; it is part of a key.
CREATE TABLE durable.concurrency_configs (
    scope           SMALLINT NOT NULL CHECK (scope IN (0, 1)),
    key             TEXT COLLATE "C" NOT NULL,
    cap             BIGINT NOT NULL CHECK (cap >= 0),
    shards          INTEGER NOT NULL CHECK (shards >= 1),
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);

CREATE TABLE durable.concurrency_buckets (
    scope           SMALLINT NOT NULL CHECK (scope IN (0, 1)),
    key             TEXT COLLATE "C" NOT NULL,
    shard           INTEGER NOT NULL CHECK (shard >= 0),
    cap             BIGINT NOT NULL CHECK (cap >= 0),
    available       BIGINT NOT NULL CHECK (0 <= available AND available <= cap),
    debt            BIGINT NOT NULL DEFAULT 0 CHECK (debt >= 0),
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (scope, key, shard)
);

-- Tokens are counted in millionths, so that a lazy refill loses nothing to rounding.
CREATE TABLE durable.rate_configs (
    name                TEXT COLLATE "C" PRIMARY KEY,
    tokens_per_second   DOUBLE PRECISION NOT NULL CHECK (tokens_per_second > 0),
    burst               BIGINT NOT NULL CHECK (burst >= 1),
    updated_at          BIGINT NOT NULL
);

CREATE TABLE durable.rate_buckets (
    name                TEXT COLLATE "C" NOT NULL REFERENCES durable.rate_configs (name) ON DELETE CASCADE,
    key                 TEXT COLLATE "C" NOT NULL,
    micro_tokens        BIGINT NOT NULL CHECK (micro_tokens >= 0),
    refilled_at         BIGINT NOT NULL,
    PRIMARY KEY (name, key)
);

CREATE INDEX rate_buckets_idle ON durable.rate_buckets (refilled_at);

-- Hot rows change often: room for new versions on the same page, and vacuum before the dead ones pile up.
ALTER TABLE durable.instances SET
    (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE durable.activities SET
    (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE durable.inbox SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
