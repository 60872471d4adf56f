-- G10: the instance that a start meets: the open one, else the one that closed last.
-- Index: instances_workflow_id.
SELECT id, current_run, workflow_type, input_digest, status
FROM instances
WHERE workflow_id = ?1
ORDER BY (status < 10) DESC, closed_at DESC, id DESC
LIMIT 1
