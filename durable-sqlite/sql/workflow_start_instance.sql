-- G2, G10: makes the instance of a start; two that race meet at instances_open_workflow_id.
-- Index: every index over runnable instances.
INSERT INTO instances (workflow_id, workflow_type, input_digest, request_id, current_run, run_number, status, queue,
                       priority, eligible_at, next_event_id, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, ?6, ?7, ?8, ?9, ?8, ?8)
RETURNING id
