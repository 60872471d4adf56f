-- G1, G9: locks eligible activity rows of queue $1 in order of (priority, eligible time, id), at most $3, of the types
-- $4; and rows past their deadline, whatever their type. $2 test clock. One lane per priority, walked lazily, each a
-- seek; nobody waits. The caller sorts and keeps the first $3.
-- Index: activities_pick, activities_deadline.
WITH eligible AS MATERIALIZED (
    SELECT candidate.id, candidate.priority, candidate.eligible_at, candidate.lost
    FROM generate_series(0, 9) AS lane (priority)
    CROSS JOIN LATERAL (
        SELECT a.id, a.priority, a.eligible_at, a.lost
        FROM durable.activities AS a
        WHERE a.status = 0 AND a.queue = $1 AND a.priority = lane.priority
          AND a.eligible_at <= (SELECT COALESCE($2::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
          AND a.activity_type = ANY ($4::TEXT[])
        ORDER BY a.eligible_at, a.id
        LIMIT $3
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS candidate
    LIMIT $3
),
overdue AS MATERIALIZED (
    SELECT a.id, a.priority, a.eligible_at, a.lost
    FROM durable.activities AS a
    WHERE a.status = 0 AND a.queue = $1 AND a.deadline <= (SELECT COALESCE($2::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
    ORDER BY a.deadline
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id, priority, eligible_at, lost FROM eligible
UNION
SELECT id, priority, eligible_at, lost FROM overdue
