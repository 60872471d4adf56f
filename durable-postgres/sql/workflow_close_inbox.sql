-- G2: unread messages of closed instances are gone.
-- Index: primary key of inbox.
DELETE FROM durable.inbox WHERE instance_id = ANY ($1::BIGINT[])
