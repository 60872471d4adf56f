-- G14: whether any migration of this library ever ran here.
-- Index: none.
SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'durable_migrations'
