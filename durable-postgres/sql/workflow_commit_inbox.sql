-- G5: messages that became history in this flush are gone. $1 instances, $2 flushes, $3 consumed through.
-- Index: primary keys.
DELETE FROM durable.inbox AS m
USING unnest($1::BIGINT[], $2::UUID[], $3::BIGINT[]) AS turn (id, flush, consumed)
JOIN durable.instances AS i ON i.id = turn.id AND i.last_flush = turn.flush
WHERE i.id = ANY ($1) AND m.instance_id = ANY ($1) AND m.instance_id = turn.id AND m.seq <= turn.consumed
