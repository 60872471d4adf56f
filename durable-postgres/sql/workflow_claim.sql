-- G1, G3, G7, G8: takes the picked instances ($1), whose locks are held: raises the epoch, counts the claim. $2 owner,
-- $3 length of the lease, $4 test clock. Joined back by id, never by ctid: a concurrent update moves the row.
-- They were runnable when they were locked; asking again would let a plan made on an empty table walk instances_pick.
-- Tells whether it has unread messages and activity rows, and brings a history along that is one row of at most $5
-- bytes. The scalar sub-select seeks: an EXISTS may be carried out by hashing the whole table.
-- Index: primary keys, activities_instance.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($4::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
)
UPDATE durable.instances AS i
SET status = 1,
    locked_by = $2,
    lease_expires_at = clock.now + LEAST($3::BIGINT, 9223372036854775807 - clock.now),
    epoch = i.epoch + 1,
    claims_without_progress = i.claims_without_progress + 1,
    updated_at = clock.now
FROM clock
WHERE i.id = ANY ($1::BIGINT[])
RETURNING i.id, i.workflow_id, i.workflow_type, i.queue, i.current_run, i.run_number, i.epoch, i.next_event_id,
          i.claims_without_progress, i.owner_lost, i.blocked_attempts, clock.now, i.inbox_seq > i.inbox_seen,
          (SELECT a.id FROM durable.activities AS a WHERE a.instance_id = i.id LIMIT 1) IS NOT NULL,
          (SELECT h.bytes FROM durable.history AS h
           WHERE h.run_id = i.current_run AND h.first_event_id = 1 AND h.next_event_id = i.next_event_id
             AND length(h.bytes) <= $5)
