-- G7: renews live leases on instances; $1 owner, $2 ids, $3 epochs, $4 test clock, $5 length. Expiry never decreases, an
-- expired lease is never revived. A row that somebody else has locked is skipped: it is neither renewed nor lost, and
-- the flush that holds it renews it.
-- Only what executes has an owner (a CHECK), so the guard names no status: a plan made on an empty table would walk the
-- partial index of the owners.
-- Index: primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.instances
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
    UPDATE durable.instances AS i
    SET lease_expires_at = GREATEST(i.lease_expires_at, clock.now + LEAST($5::BIGINT, 9223372036854775807 - clock.now))
    FROM wanted CROSS JOIN clock
    WHERE i.id = ANY (ARRAY (SELECT id FROM held)) AND i.id = wanted.id AND i.epoch = wanted.epoch
      AND i.lease_expires_at > clock.now
    RETURNING i.id
),
skipped AS (
    SELECT i.id
    FROM durable.instances AS i
    JOIN wanted ON wanted.id = i.id AND wanted.epoch = i.epoch
    CROSS JOIN clock
    WHERE i.id = ANY ($2) AND i.locked_by = $1 AND i.lease_expires_at > clock.now
      AND i.id <> ALL (ARRAY (SELECT id FROM held))
)
SELECT wanted.id,
       wanted.id <> ALL (ARRAY (SELECT id FROM renewed)) AND wanted.id <> ALL (ARRAY (SELECT id FROM skipped)) AS lost,
       clock.now
FROM wanted CROSS JOIN clock
