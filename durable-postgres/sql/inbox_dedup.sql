-- G5: remembers a message's dedup key; changes no row if it was seen before.
-- Index: primary key.
INSERT INTO durable.inbox_dedup (instance_id, dedup_key) VALUES ($1, $2) ON CONFLICT DO NOTHING
