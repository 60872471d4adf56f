-- G8: runs that another build blocked are due at once. $1 build, $2 test clock. Locked in order of id, and waited for:
-- one that was skipped might wait for a build for ever.
-- Index: instances_blocked.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.instances WHERE status = 3 AND blocked_build <> $1 ORDER BY id FOR NO KEY UPDATE
),
clock (now) AS MATERIALIZED (
    SELECT COALESCE($2::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) FROM (SELECT count(*) FROM held) AS locked
)
UPDATE durable.instances AS i
SET wake_at = clock.now
FROM clock
WHERE i.id = ANY (ARRAY (SELECT id FROM held))
  AND (i.wake_at IS NULL OR i.wake_at > clock.now)
