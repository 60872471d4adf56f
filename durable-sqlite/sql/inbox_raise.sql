-- G5, G6: gives the next message its position and makes a waiting instance runnable; any other open status stays.
-- Index: primary key.
UPDATE instances
SET inbox_seq = inbox_seq + 1,
    eligible_at = CASE status WHEN 2 THEN ?2 ELSE eligible_at END,
    wake_at = CASE status WHEN 2 THEN NULL ELSE wake_at END,
    status = CASE status WHEN 2 THEN 0 ELSE status END,
    updated_at = ?2
WHERE id = ?1 AND status < 10
RETURNING inbox_seq
