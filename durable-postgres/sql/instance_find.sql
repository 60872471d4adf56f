-- G12: the instance of a workflow id: the open one, else the one that closed last.
-- Index: instances_workflow_id.
SELECT id, workflow_id, workflow_type, current_run, run_number, status,
       blocked_reason, blocked_attempts, wake_at, dead_letter_reason, next_event_id, created_at,
       closed_at, outcome
FROM durable.instances
WHERE workflow_id = $1
ORDER BY (status < 10) DESC, closed_at DESC NULLS LAST, id DESC
LIMIT 1
