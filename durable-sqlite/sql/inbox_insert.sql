-- G5: one message.
-- Index: primary key.
INSERT INTO inbox (instance_id, seq, kind, body, dedup_key, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
