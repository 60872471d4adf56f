-- G8: dead predecessors under a slot are forgotten.
-- Index: workers_slot.
DELETE FROM workers WHERE slot = ?1
