-- G12: open instances after workflow id ?1 (the empty text is before all), at most ?2.
-- Index: instances_open_workflow_id.
SELECT id, workflow_id, workflow_type, current_run, run_number, status,
       blocked_reason, blocked_attempts, wake_at, dead_letter_reason, next_event_id, created_at,
       closed_at, outcome
FROM instances
WHERE status < 10 AND workflow_id > ?1
ORDER BY workflow_id
LIMIT ?2 + 0
