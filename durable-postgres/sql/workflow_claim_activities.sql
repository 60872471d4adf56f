-- G1: durable activity rows of the claimed instances ($1).
-- Index: activities_instance.
SELECT instance_id, command_id, id
FROM durable.activities
WHERE instance_id = ANY ($1::BIGINT[])
ORDER BY instance_id, command_id
