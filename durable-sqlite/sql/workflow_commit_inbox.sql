-- G5: messages that became history in this commit are gone.
-- Index: primary key of inbox.
DELETE FROM inbox WHERE instance_id = ?1 AND seq <= ?2
