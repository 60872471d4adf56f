-- G2: begins the runs in which instances go on, as the heads have just numbered them. $1 test clock, $2 instances, $3 runs,
-- $4 seeds. A known run is a constraint violation.
-- Index: primary key.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
)
INSERT INTO durable.runs (run_id, instance_id, number, seed, started_at)
SELECT i.current_run, i.id, i.run_number, new.seed, clock.now
FROM unnest($2::BIGINT[], $3::UUID[], $4::UUID[]) AS new (instance_id, run_id, seed)
JOIN durable.instances AS i ON i.id = new.instance_id
CROSS JOIN clock
WHERE i.id = ANY ($2) AND i.current_run = new.run_id
