-- G14: whether schema $1 is there, whether any migration of this library ever ran in it, and how the database encodes
-- text.
-- Index: the catalogue's own.
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1),
       EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'durable_migrations'),
       current_setting('server_encoding')
