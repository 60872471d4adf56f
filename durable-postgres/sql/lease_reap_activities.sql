-- G8: activity rows under an expired lease count a lost attempt and owe their back-off; at most $2, $1 test clock.
-- Index: activities_lease, primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.activities
    WHERE status = 1 AND lease_expires_at <= (SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
    ORDER BY lease_expires_at
    LIMIT $2
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
