-- G5: dedup keys live until the instance closes.
-- Index: primary key of inbox_dedup.
DELETE FROM durable.inbox_dedup WHERE instance_id = ANY ($1::BIGINT[])
