-- G6: owned instances with unread messages.
-- Index: instances_owner.
SELECT id FROM durable.instances WHERE status = 1 AND locked_by = $1 AND inbox_seq > inbox_seen ORDER BY id
