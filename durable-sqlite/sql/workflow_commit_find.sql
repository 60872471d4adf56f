-- G3: whether the instance's last commit is this one (?2): a retry after a lost answer has succeeded before.
-- Index: primary key.
SELECT status, inbox_seq, next_event_id FROM instances WHERE id = ?1 AND last_flush = ?2
