-- G8: gives up an instance that was claimed too often without progress; it keeps its id and its messages.
-- Index: primary key.
UPDATE instances
SET status = 4, dead_letter_reason = ?2, updated_at = ?3
WHERE id = ?1 AND status = 0
