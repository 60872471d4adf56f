-- G12: one instance.
-- Index: primary key.
SELECT id, workflow_id, workflow_type, current_run, run_number, status,
       blocked_reason, blocked_attempts, wake_at, dead_letter_reason, next_event_id, created_at,
       closed_at, outcome
FROM durable.instances
WHERE id = $1
