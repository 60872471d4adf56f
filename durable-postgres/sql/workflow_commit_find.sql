-- G3: which instances' ($1) last commits are these ($2): a retry after a lost answer has succeeded before. $3 test clock.
-- Index: primary key.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($3::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
)
SELECT i.id, i.status, i.inbox_seq, i.next_event_id, clock.now
FROM unnest($1::BIGINT[], $2::UUID[]) AS asked (id, flush)
JOIN durable.instances AS i ON i.id = asked.id AND i.last_flush = asked.flush
CROSS JOIN clock
WHERE i.id = ANY ($1)
