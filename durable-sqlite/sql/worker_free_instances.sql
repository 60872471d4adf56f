-- G3, G8: frees what dead predecessors under slot ?1 hold.
-- Index: workers_slot, instances_owner.
UPDATE instances
SET status = 0, owner_lost = 1, locked_by = NULL, lease_expires_at = NULL, eligible_at = ?2, updated_at = ?2
WHERE status = 1 AND locked_by IN (SELECT incarnation FROM workers WHERE slot = ?1)
