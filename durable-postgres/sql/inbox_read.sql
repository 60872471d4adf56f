-- G5: unread messages in order.
-- Index: primary key.
SELECT seq, kind, body FROM durable.inbox WHERE instance_id = $1 AND seq > $2 ORDER BY seq
