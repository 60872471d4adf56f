-- G14: makes the schema, whose quoted name stands for `durable`.
-- Index: none.
CREATE SCHEMA durable
