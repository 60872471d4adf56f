-- G12: rows of a run's history in order, from the row that begins at ?2; the reader stops when its page is full.
-- Index: primary key.
SELECT first_event_id, next_event_id, bytes
FROM history
WHERE run_id = ?1 AND first_event_id >= ?2
ORDER BY first_event_id
