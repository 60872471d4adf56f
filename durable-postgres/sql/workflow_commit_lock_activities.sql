-- G10: every activity row that a flush will remove, locked in order of id after the instances: all rows of the instances
-- that close ($1), and those of single commands ($2 runs, $3 commands).
-- Index: activities_instance, activities_command, primary key.
SELECT a.id
FROM durable.activities AS a
WHERE a.id = ANY (ARRAY (
    SELECT closing.id FROM durable.activities AS closing WHERE closing.instance_id = ANY ($1::BIGINT[])
    UNION ALL
    SELECT single.id
    FROM unnest($2::UUID[], $3::BIGINT[]) AS gone (run_id, command_id)
    CROSS JOIN LATERAL (
        SELECT r.id FROM durable.activities AS r WHERE r.run_id = gone.run_id AND r.command_id = gone.command_id LIMIT 1
    ) AS single
))
ORDER BY a.id
FOR UPDATE
