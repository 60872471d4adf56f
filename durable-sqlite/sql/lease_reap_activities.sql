-- G8: activity rows under an expired lease count a lost attempt and owe their back-off; at most ?2.
-- The sum after LIMIT: see workflow_claim_pick.
-- Index: activities_lease.
UPDATE activities
SET status = 0, lost = lost + 1, attempts = attempts + 1, backoff_due = 1, locked_by = NULL, lease_expires_at = NULL,
    eligible_at = ?1
WHERE id IN (SELECT id FROM activities WHERE status = 1 AND lease_expires_at <= ?1 ORDER BY lease_expires_at LIMIT ?2 + 0)
