-- G14: one row per migration that ran.
-- Index: none.
CREATE TABLE IF NOT EXISTS durable.durable_migrations (
    version     BIGINT PRIMARY KEY,
    applied_at  BIGINT NOT NULL
)
