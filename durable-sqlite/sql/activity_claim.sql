-- G1, G3: takes the picked rows (?1, a JSON array of ids) and raises their epochs.
-- Index: primary key.
UPDATE activities
SET status = 1, locked_by = ?2, lease_expires_at = ?3, epoch = epoch + 1
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 0
RETURNING id, epoch, instance_id,
          (SELECT workflow_id FROM instances WHERE instances.id = activities.instance_id) AS workflow_id,
          run_id, command_id, activity_type, task, attempts, lost, backoff_due, deadline, last_failure
