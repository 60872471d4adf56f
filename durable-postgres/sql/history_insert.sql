-- G2: the first rows of history of runs that this transaction made; later ones ride in the commit. The same first event
-- twice is a constraint violation (case 19). $1 instances, $2 runs, $3 first events, $4 next events, $5 bytes.
-- Index: primary keys.
INSERT INTO durable.history (run_id, first_event_id, next_event_id, bytes)
SELECT i.current_run, new.first_event_id, new.next_event_id, new.bytes
FROM unnest($1::BIGINT[], $2::UUID[], $3::BIGINT[], $4::BIGINT[], $5::BYTEA[])
     AS new (instance_id, run_id, first_event_id, next_event_id, bytes)
JOIN durable.instances AS i ON i.id = new.instance_id
WHERE i.id = ANY ($1) AND i.current_run = new.run_id
