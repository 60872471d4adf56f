-- G3, G7: gives claimed rows back. $1 rows, $2 owners, $3 epochs, $4 test clocks, $5 delays, $6 attempts, $7 failures.
-- Index: primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.activities WHERE id = ANY ($1::BIGINT[]) ORDER BY id FOR NO KEY UPDATE
),
stamp (now) AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT FROM (SELECT count(*) FROM held) AS locked
)
UPDATE durable.activities AS a
SET status = 0,
    locked_by = NULL,
    lease_expires_at = NULL,
    eligible_at = clock.now + LEAST(again.delay, 9223372036854775807 - clock.now),
    attempts = again.attempts,
    backoff_due = FALSE,
    last_failure = COALESCE(again.failure, a.last_failure)
FROM unnest($1, $2::UUID[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::INTEGER[], $7::BYTEA[])
     AS again (id, owner, epoch, now, delay, attempts, failure)
CROSS JOIN stamp
CROSS JOIN LATERAL (SELECT COALESCE(again.now, stamp.now) AS now) AS clock
WHERE a.id = ANY (ARRAY (SELECT id FROM held)) AND a.id = again.id
  AND a.locked_by = again.owner AND a.epoch = again.epoch AND a.lease_expires_at > clock.now
RETURNING a.id
