-- G8: runs that another build blocked are due at once.
-- Index: instances_blocked.
UPDATE instances SET wake_at = ?2 WHERE status = 3 AND blocked_build <> ?1 AND (wake_at IS NULL OR wake_at > ?2)
