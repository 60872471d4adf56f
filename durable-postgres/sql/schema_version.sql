-- G14: the version that the database is at; 0 before the first migration.
-- Index: primary key.
SELECT COALESCE(MAX(version), 0) FROM durable.durable_migrations
