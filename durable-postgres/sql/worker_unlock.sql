-- G8: lets the slot's lock of this connection go.
-- Index: none.
SELECT pg_advisory_unlock_all()
