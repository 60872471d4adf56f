-- G14: remembers a migration.
-- Index: primary key.
INSERT INTO durable.durable_migrations (version, applied_at) VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
