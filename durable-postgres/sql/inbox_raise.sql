-- G5, G6: gives the next messages of instances their positions and makes waiting ones runnable; any other open status
-- stays. The locks are held, the instances are open. $1 instances, $2 how many messages each, $3 test clocks. The flip stands in a CASE: a
-- WHERE that asks for the status would pass by what is about to wait.
-- Index: primary key.
UPDATE durable.instances AS i
SET inbox_seq = i.inbox_seq + sent.messages,
    eligible_at = CASE i.status WHEN 2 THEN stamped.now ELSE i.eligible_at END,
    wake_at = CASE i.status WHEN 2 THEN NULL ELSE i.wake_at END,
    status = CASE i.status WHEN 2 THEN 0 ELSE i.status END,
    updated_at = stamped.now
FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) AS sent (id, messages, now)
CROSS JOIN LATERAL (SELECT COALESCE(sent.now, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) AS now) AS stamped
WHERE i.id = ANY ($1) AND i.id = sent.id
RETURNING i.id, i.inbox_seq, stamped.now
