-- G7: renews live leases on activity rows; parameters as for instances.
-- Index: activities_owner.
UPDATE activities
SET lease_expires_at = MAX(lease_expires_at, ?4)
WHERE status = 1 AND locked_by = ?1 AND lease_expires_at > ?3
  AND (id, epoch) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))
RETURNING id
