-- G7: waiting and blocked instances that are due are runnable, eligible since their due time; at most $2, $1 test clock.
-- Index: instances_wake, primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.instances
    WHERE status IN (2, 3) AND wake_at <= (SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
    ORDER BY wake_at
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
),
clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) FROM (SELECT count(*) FROM held) AS locked
)
UPDATE durable.instances AS i
SET status = 0, eligible_at = i.wake_at, wake_at = NULL, updated_at = clock.now
FROM clock
WHERE i.id = ANY (ARRAY (SELECT id FROM held))
