-- G2: activity rows of closed instances are gone; whoever runs one is told so when it settles. Their locks are held.
-- Index: activities_instance.
DELETE FROM durable.activities WHERE instance_id = ANY ($1::BIGINT[])
