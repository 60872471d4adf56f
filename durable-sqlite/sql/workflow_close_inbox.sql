-- G2: unread messages of a closed instance are gone.
-- Index: primary key of inbox.
DELETE FROM inbox WHERE instance_id = ?1
