-- G1: durable activity rows of the claimed instances (?1, a JSON array of ids).
-- Index: activities_instance.
SELECT instance_id, command_id, id
FROM activities
WHERE instance_id IN (SELECT value FROM json_each(?1))
ORDER BY instance_id, command_id
