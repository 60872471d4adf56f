-- G2: makes the first run of an instance.
-- Index: primary key.
INSERT INTO runs (run_id, instance_id, number, seed, started_at) VALUES (?1, ?2, 1, ?3, ?4)
