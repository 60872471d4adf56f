-- G3: gives a claimed row back. ?1 row, ?2 owner, ?3 epoch, ?4 now, ?5 eligible time, ?6 attempts, ?7 failure.
-- Index: primary key.
UPDATE activities
SET status = 0,
    locked_by = NULL,
    lease_expires_at = NULL,
    eligible_at = ?5,
    attempts = ?6,
    backoff_due = 0,
    last_failure = COALESCE(?7, last_failure)
WHERE id = ?1 AND locked_by = ?2 AND epoch = ?3 AND status = 1 AND lease_expires_at > ?4
