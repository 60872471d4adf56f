-- G7: renews live leases on activity rows; $1 owner, $2 ids, $3 epochs, $4 test clock, $5 length. Expiry never decreases, an
-- expired lease is never revived. A row that somebody else has locked is skipped: it is neither renewed nor lost, and
-- the flush that holds it renews it.
-- Only what executes has an owner (a CHECK), so the guard names no status: a plan made on an empty table would walk the
-- partial index of the owners.
-- Index: primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.activities
    WHERE id = ANY ($2::BIGINT[]) AND locked_by = $1
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
clock (now) AS MATERIALIZED (
    SELECT COALESCE($4::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) FROM (SELECT count(*) FROM held) AS locked
),
wanted AS MATERIALIZED (
    SELECT w.id, w.epoch FROM unnest($2, $3::BIGINT[]) AS w (id, epoch)
),
renewed AS (
    UPDATE durable.activities AS a
    SET lease_expires_at = GREATEST(a.lease_expires_at, clock.now + LEAST($5::BIGINT, 9223372036854775807 - clock.now))
    FROM wanted CROSS JOIN clock
    WHERE a.id = ANY (ARRAY (SELECT id FROM held)) AND a.id = wanted.id AND a.epoch = wanted.epoch
      AND a.lease_expires_at > clock.now
    RETURNING a.id
),
skipped AS (
    SELECT a.id
    FROM durable.activities AS a
    JOIN wanted ON wanted.id = a.id AND wanted.epoch = a.epoch
    CROSS JOIN clock
    WHERE a.id = ANY ($2) AND a.locked_by = $1 AND a.lease_expires_at > clock.now
      AND a.id <> ALL (ARRAY (SELECT id FROM held))
)
SELECT wanted.id,
       wanted.id <> ALL (ARRAY (SELECT id FROM renewed)) AND wanted.id <> ALL (ARRAY (SELECT id FROM skipped)) AS lost,
       clock.now
FROM wanted CROSS JOIN clock
