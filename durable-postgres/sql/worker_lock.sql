-- G8: takes a slot's liveness lock ($1) for as long as this connection lives, if it is free.
-- Index: none.
SELECT pg_try_advisory_lock($1), pg_backend_pid()
