-- G8: superseded workers that hold nothing any more are forgotten. $1 test clock, $2 takeover delay.
-- Scalar sub-selects, because NOT EXISTS may become a join that reads all claims.
-- Index: workers_superseded, instances_owner, activities_owner.
DELETE FROM durable.workers AS w
WHERE w.superseded_at <= (SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)) - $2::BIGINT
  AND (SELECT i.id FROM durable.instances AS i WHERE i.status = 1 AND i.locked_by = w.incarnation LIMIT 1) IS NULL
  AND (SELECT a.id FROM durable.activities AS a WHERE a.status = 1 AND a.locked_by = w.incarnation LIMIT 1) IS NULL
