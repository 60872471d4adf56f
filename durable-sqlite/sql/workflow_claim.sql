-- G1, G3, G8: takes the picked instances (?1, a JSON array of ids): raises the epoch, counts the claim.
-- Index: primary key.
UPDATE instances
SET status = 1,
    locked_by = ?2,
    lease_expires_at = ?3,
    epoch = epoch + 1,
    claims_without_progress = claims_without_progress + 1,
    updated_at = ?4
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 0
RETURNING id, workflow_id, workflow_type, queue, current_run, run_number, epoch, next_event_id, claims_without_progress, owner_lost, blocked_attempts
