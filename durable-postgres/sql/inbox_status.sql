-- G10, G12: locks an instance before a message to it, and says how it stands.
-- Index: primary key.
SELECT status FROM durable.instances WHERE id = $1 FOR NO KEY UPDATE
