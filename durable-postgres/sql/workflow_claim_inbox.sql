-- G5: unread messages of the claimed instances ($1), in order.
-- Index: primary key of inbox.
SELECT instance_id, seq, kind, body
FROM durable.inbox
WHERE instance_id = ANY ($1::BIGINT[])
ORDER BY instance_id, seq
