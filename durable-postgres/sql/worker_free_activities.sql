-- G3, G8: activity rows that such workers hold count a lost attempt. $1 test clock, $2 takeover delay.
-- Index: workers_superseded, activities_owner, primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.activities
    WHERE status = 1 AND locked_by = ANY (ARRAY (
        SELECT incarnation FROM durable.workers
        WHERE superseded_at <= (SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)) - $2::BIGINT
    ))
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) FROM (SELECT count(*) FROM held) AS locked
)
UPDATE durable.activities AS a
SET status = 0, lost = a.lost + 1, attempts = a.attempts + 1, backoff_due = TRUE, locked_by = NULL,
    lease_expires_at = NULL, eligible_at = clock.now
FROM clock
WHERE a.id = ANY (ARRAY (SELECT id FROM held))
