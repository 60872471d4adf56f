-- G3: forgets an incarnation that stopped on purpose; its claims stay under their leases.
-- Index: primary key.
DELETE FROM durable.workers WHERE incarnation = $1
