-- G10: takes back instances that this transaction made, because another one of the same workflow id closed just before.
-- Index: primary key.
DELETE FROM durable.instances WHERE id = ANY ($1::BIGINT[])
