-- G2: makes the first runs of instances that this transaction made. $1 runs, $2 instances, $3 seeds.
-- Index: primary key.
INSERT INTO durable.runs (run_id, instance_id, number, seed, started_at)
SELECT new.run_id, i.id, 1, new.seed, i.created_at
FROM unnest($1::UUID[], $2::BIGINT[], $3::UUID[]) AS new (run_id, instance_id, seed)
JOIN durable.instances AS i ON i.id = new.instance_id
WHERE i.id = ANY ($2)
