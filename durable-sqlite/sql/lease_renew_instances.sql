-- G7: renews live leases on instances; ?1 owner, ?2 JSON array of [id, epoch], ?3 now, ?4 new end. Expiry never
-- decreases, an expired lease is never revived.
-- Index: instances_owner.
UPDATE instances
SET lease_expires_at = MAX(lease_expires_at, ?4)
WHERE status = 1 AND locked_by = ?1 AND lease_expires_at > ?3
  AND (id, epoch) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))
RETURNING id
