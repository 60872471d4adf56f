-- G2: removes the row of a command, if it is still there.
-- Index: unique (run_id, command_id).
DELETE FROM activities WHERE run_id = ?1 AND command_id = ?2
