-- G14: remembers a migration.
-- Index: primary key.
INSERT INTO durable_migrations (version, applied_at) VALUES (?1, ?2)
