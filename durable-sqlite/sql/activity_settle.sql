-- G3: the guarded end of one attempt. ?1 row, ?2 owner, ?3 epoch, ?4 now.
-- Index: primary key.
DELETE FROM activities
WHERE id = ?1 AND locked_by = ?2 AND epoch = ?3 AND status = 1 AND lease_expires_at > ?4
RETURNING instance_id
