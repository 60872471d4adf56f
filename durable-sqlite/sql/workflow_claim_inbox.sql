-- G5: unread messages of the claimed instances (?1, a JSON array of ids), in order.
-- Index: primary key of inbox.
SELECT instance_id, seq, kind, body
FROM inbox
WHERE instance_id IN (SELECT value FROM json_each(?1))
ORDER BY instance_id, seq
