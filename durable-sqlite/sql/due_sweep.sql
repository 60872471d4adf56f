-- G7: waiting and blocked instances that are due at ?1 are runnable, eligible since their due time; at most ?2.
-- The sum after LIMIT: see workflow_claim_pick.
-- Index: instances_wake.
UPDATE instances
SET status = 0, eligible_at = wake_at, wake_at = NULL, updated_at = ?1
WHERE id IN (SELECT id FROM instances WHERE status IN (2, 3) AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2 + 0)
