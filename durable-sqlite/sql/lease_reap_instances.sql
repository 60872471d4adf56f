-- G8: instances under an expired lease are claimable again; at most ?2.
-- The sum after LIMIT: see workflow_claim_pick.
-- Index: instances_lease.
UPDATE instances
SET status = 0, owner_lost = 1, locked_by = NULL, lease_expires_at = NULL, eligible_at = ?1, updated_at = ?1
WHERE id IN (SELECT id FROM instances WHERE status = 1 AND lease_expires_at <= ?1 ORDER BY lease_expires_at LIMIT ?2 + 0)
