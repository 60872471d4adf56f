-- G12: where the history of a run must end: known for the open or last run of an instance, NULL for an earlier one.
-- Read before the rows: a commit in between only makes them more.
-- Index: primary keys.
SELECT CASE WHEN instances.current_run = runs.run_id THEN instances.next_event_id END
FROM runs JOIN instances ON instances.id = runs.instance_id
WHERE runs.run_id = ?1
