-- G12: rows of a run's history in order, from the row that begins at $2: a page of $3 bytes and at least one row, then
-- the row after it without its bytes. The server cuts the page: it would send the rest to a reader that has stopped.
-- Index: primary key.
SELECT sized.first_event_id, sized.next_event_id,
       CASE WHEN sized.place = 1 OR sized.before < $3 THEN sized.bytes END AS bytes
FROM (
    SELECT h.first_event_id, h.next_event_id, h.bytes,
           row_number() OVER history AS place,
           sum(octet_length(h.bytes)) OVER history - octet_length(h.bytes) AS before,
           lag(octet_length(h.bytes)) OVER history AS size_before
    FROM durable.history AS h
    WHERE h.run_id = $1 AND h.first_event_id >= $2
    WINDOW history AS (ORDER BY h.first_event_id)
) AS sized
WHERE sized.place <= 2 OR sized.before - sized.size_before < $3
ORDER BY sized.first_event_id
