-- G8: gives up an instance that was claimed too often without progress; it keeps its id and its messages. Its lock
-- is held. $3 test clock.
-- Index: primary key.
UPDATE durable.instances
SET status = 4, dead_letter_reason = $2, updated_at = COALESCE($3::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
WHERE id = $1
