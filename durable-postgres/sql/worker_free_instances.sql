-- G3, G8: frees what workers hold whose successors took their slots' locks at least $2 ago. $1 test clock.
-- Index: workers_superseded, instances_owner, primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.instances
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
UPDATE durable.instances AS i
SET status = 0, owner_lost = TRUE, locked_by = NULL, lease_expires_at = NULL, eligible_at = clock.now, updated_at = clock.now
FROM clock
WHERE i.id = ANY (ARRAY (SELECT id FROM held))
