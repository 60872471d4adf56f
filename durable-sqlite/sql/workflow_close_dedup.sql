-- G5: dedup keys live until the instance closes.
-- Index: primary key of inbox_dedup.
DELETE FROM inbox_dedup WHERE instance_id = ?1
