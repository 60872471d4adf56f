-- G1, G3, G8: takes the picked instances (?1, a JSON array of ids): raises the epoch, counts the claim. Tells whether
-- it has unread messages and activity rows, and brings a history along that is one row of at most ?5 bytes.
-- Index: primary keys, activities_instance.
UPDATE instances
SET status = 1,
    locked_by = ?2,
    lease_expires_at = ?3,
    epoch = epoch + 1,
    claims_without_progress = claims_without_progress + 1,
    updated_at = ?4
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 0
RETURNING id, workflow_id, workflow_type, queue, current_run, run_number, epoch, next_event_id, claims_without_progress, owner_lost, blocked_attempts,
    inbox_seq > inbox_seen,
    EXISTS (SELECT 1 FROM activities AS a WHERE a.instance_id = instances.id),
    (SELECT h.bytes FROM history AS h
     WHERE h.run_id = current_run AND h.first_event_id = 1 AND h.next_event_id = instances.next_event_id
       AND length(h.bytes) <= ?5)
