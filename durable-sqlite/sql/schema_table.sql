-- G14: one row per migration that ran.
-- Index: none.
CREATE TABLE IF NOT EXISTS durable_migrations (
    version     INTEGER PRIMARY KEY NOT NULL,
    applied_at  INTEGER NOT NULL
)
