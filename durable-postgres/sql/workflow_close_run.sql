-- G2: runs end with their instances. $1 test clock, $2 runs, $3 statuses, $4 outcomes.
-- Index: primary key.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
)
UPDATE durable.runs AS r
SET status = ended.status, outcome = ended.outcome, closed_at = clock.now
FROM unnest($2::UUID[], $3::SMALLINT[], $4::BYTEA[]) AS ended (run_id, status, outcome)
CROSS JOIN clock
WHERE r.run_id = ANY ($2) AND r.run_id = ended.run_id
