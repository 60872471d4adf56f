-- G3, G8: activity rows that dead predecessors under slot ?1 hold count a lost attempt.
-- Index: workers_slot, activities_owner.
UPDATE activities
SET status = 0, lost = lost + 1, attempts = attempts + 1, backoff_due = 1, locked_by = NULL, lease_expires_at = NULL,
    eligible_at = ?2
WHERE status = 1 AND locked_by IN (SELECT incarnation FROM workers WHERE slot = ?1)
