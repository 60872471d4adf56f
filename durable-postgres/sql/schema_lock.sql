-- G14: of ten processes at once one migrates at a time; held until the transaction ends. The only advisory lock that
-- is waited for.
-- Index: none.
SELECT pg_advisory_xact_lock($1)
