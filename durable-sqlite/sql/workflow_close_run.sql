-- G2: the run ends with its instance.
-- Index: primary key.
UPDATE runs SET status = ?2, outcome = ?3, closed_at = ?4 WHERE run_id = ?1
