-- G8: the slot's lock ($1 slot) was free: its earlier holders have lost their connections. From now on the takeover
-- delay runs, within which one that still lives finds out. $2 test clock.
-- Index: workers_slot.
UPDATE durable.workers
SET superseded_at = COALESCE($2::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
WHERE slot = $1 AND superseded_at IS NULL
