-- G14: waits for another process's migration as long as it takes; for this transaction only.
-- Index: none.
SELECT set_config('lock_timeout', '0', TRUE)
