-- G3, G7: the guarded ends of attempts. The rows are locked in order of id, then the clock is read, then the guard is
-- asked. $1 rows, $2 owners, $3 epochs, $4 test clocks.
-- Index: primary key.
WITH held AS MATERIALIZED (
    SELECT id FROM durable.activities WHERE id = ANY ($1::BIGINT[]) ORDER BY id FOR UPDATE
),
clock (now) AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT FROM (SELECT count(*) FROM held) AS locked
)
DELETE FROM durable.activities AS a
USING unnest($1, $2::UUID[], $3::BIGINT[], $4::BIGINT[]) AS ended (id, owner, epoch, now)
CROSS JOIN clock
WHERE a.id = ANY (ARRAY (SELECT id FROM held)) AND a.id = ended.id
  AND a.locked_by = ended.owner AND a.epoch = ended.epoch
  AND a.lease_expires_at > COALESCE(ended.now, clock.now)
RETURNING a.id, a.instance_id
