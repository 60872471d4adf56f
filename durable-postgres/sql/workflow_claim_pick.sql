-- G1, G9: locks runnable instances of queue $1 in order of (priority, eligible time, id), at most $3. One lane per
-- priority, walked lazily: each is a seek, so that what is not yet eligible at the test clock $2 or the database's
-- slows nothing, only what is taken is locked, and nobody waits.
-- Index: instances_pick.
SELECT candidate.id, candidate.priority, candidate.eligible_at, candidate.claims_without_progress
FROM generate_series(0, 9) AS lane (priority)
CROSS JOIN LATERAL (
    SELECT i.id, i.priority, i.eligible_at, i.claims_without_progress
    FROM durable.instances AS i
    WHERE i.status = 0 AND i.queue = $1 AND i.priority = lane.priority
      AND i.eligible_at <= (SELECT COALESCE($2::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
    ORDER BY i.eligible_at, i.id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
) AS candidate
LIMIT $3
