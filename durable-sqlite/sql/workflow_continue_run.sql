-- G2: begins the run in which an instance goes on, as the head has just numbered it. ?1 instance, ?2 run, ?3 seed, ?4 now.
-- A known run is a constraint violation.
-- Index: primary key.
INSERT INTO runs (run_id, instance_id, number, seed, started_at)
SELECT current_run, id, run_number, ?3, ?4 FROM instances WHERE id = ?1 AND current_run = ?2
