-- G8: instances under an expired lease are claimable again; at most $2, $1 test clock. Locked ones are left to the next.
-- Index: instances_lease, primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.instances
    WHERE status = 1 AND lease_expires_at <= (SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
    ORDER BY lease_expires_at
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
),
clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) FROM (SELECT count(*) FROM held) AS locked
)
UPDATE durable.instances AS i
SET status = 0, owner_lost = TRUE, locked_by = NULL, lease_expires_at = NULL, eligible_at = clock.now, updated_at = clock.now
FROM clock
WHERE i.id = ANY (ARRAY (SELECT id FROM held))
