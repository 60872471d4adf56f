-- G12: where the history of a run must end: known for the open or last run of an instance, NULL for an earlier one.
-- Read before the rows: a commit in between only makes them more.
-- Index: primary keys.
SELECT CASE WHEN i.current_run = r.run_id THEN i.next_event_id END
FROM durable.runs AS r
CROSS JOIN LATERAL (SELECT * FROM durable.instances AS owner WHERE owner.id = r.instance_id LIMIT 1) AS i
WHERE r.run_id = $1
