-- The database's clock in microseconds, or the test clock ?1 (G7). Run after BEGIN IMMEDIATE: the lock is held.
-- Index: none.
SELECT COALESCE(?1, CAST(round(unixepoch('subsec') * 1000.0) AS INTEGER) * 1000)
