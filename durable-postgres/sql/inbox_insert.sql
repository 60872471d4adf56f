-- G5: messages. $1 instances, $2 positions, $3 kinds, $4 bodies, $5 dedup keys, $6 times.
-- Index: primary key.
INSERT INTO durable.inbox (instance_id, seq, kind, body, dedup_key, created_at)
SELECT new.instance_id, new.seq, new.kind, new.body, new.dedup_key, new.created_at
FROM unnest($1::BIGINT[], $2::BIGINT[], $3::SMALLINT[], $4::BYTEA[], $5::BYTEA[], $6::BIGINT[])
     AS new (instance_id, seq, kind, body, dedup_key, created_at)
