-- The database's clock in microseconds, or the test clock $1 (G7).
-- Index: none.
SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
