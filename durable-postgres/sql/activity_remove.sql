-- G2: removes the rows of commands ($1 runs, $2 commands), if they are still there; their locks are held.
-- Index: activities_command.
DELETE FROM durable.activities AS a
USING unnest($1::UUID[], $2::BIGINT[]) AS gone (run_id, command_id)
WHERE a.run_id = ANY ($1) AND a.run_id = gone.run_id AND a.command_id = gone.command_id
