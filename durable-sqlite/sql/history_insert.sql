-- G2: one row of history; the same first event twice is a constraint violation (case 19).
-- Index: primary key.
INSERT INTO history (run_id, first_event_id, next_event_id, bytes) VALUES (?1, ?2, ?3, ?4)
