-- G9: what there is to do, in one read. $1 test clock, $2 owner, $3 queues, $4 activity types, $5 takeover delay.
-- Index: instances_pick, instances_wake, instances_lease, instances_owner, activities_pick, activities_deadline,
-- activities_lease, workers_superseded; each look-up is a seek per queue and priority.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
),
served (queue) AS MATERIALIZED (
    SELECT DISTINCT queue FROM unnest($3::TEXT[]) AS asked (queue)
),
lanes (queue, priority) AS MATERIALIZED (
    SELECT served.queue, lane.priority FROM served CROSS JOIN generate_series(0, 9) AS lane (priority)
)
SELECT
    (SELECT now FROM clock) AS now,
    EXISTS (SELECT 1 FROM lanes CROSS JOIN LATERAL (
                SELECT 1 FROM durable.instances AS i
                WHERE i.status = 0 AND i.queue = lanes.queue AND i.priority = lanes.priority
                  AND i.eligible_at <= (SELECT now FROM clock)
                LIMIT 1) AS hit) AS runnable,
    EXISTS (SELECT 1 FROM durable.instances WHERE status IN (2, 3) AND wake_at <= (SELECT now FROM clock)) AS due,
    EXISTS (SELECT 1 FROM durable.instances WHERE status = 1 AND lease_expires_at <= (SELECT now FROM clock))
        OR EXISTS (SELECT 1 FROM durable.activities WHERE status = 1 AND lease_expires_at <= (SELECT now FROM clock))
        OR EXISTS (SELECT 1 FROM durable.workers WHERE superseded_at <= (SELECT now FROM clock) - $5::BIGINT)
        AS expired,
    EXISTS (SELECT 1 FROM lanes CROSS JOIN LATERAL (
                SELECT 1 FROM durable.activities AS a
                WHERE a.status = 0 AND a.queue = lanes.queue AND a.priority = lanes.priority
                  AND a.eligible_at <= (SELECT now FROM clock) AND a.activity_type = ANY ($4::TEXT[])
                LIMIT 1) AS hit)
        OR EXISTS (SELECT 1 FROM served CROSS JOIN LATERAL (
                SELECT 1 FROM durable.activities AS a
                WHERE a.status = 0 AND a.queue = served.queue AND a.deadline <= (SELECT now FROM clock)
                LIMIT 1) AS hit)
        AS activities,
    EXISTS (SELECT 1 FROM durable.instances WHERE status = 1 AND locked_by = $2 AND inbox_seq > inbox_seen) AS inbox,
    (SELECT MIN(due) FROM (
        (SELECT wake_at AS due FROM durable.instances
         WHERE status IN (2, 3) AND wake_at > (SELECT now FROM clock) ORDER BY wake_at LIMIT 1)
        UNION ALL
        SELECT next.eligible_at FROM lanes CROSS JOIN LATERAL (
            SELECT i.eligible_at FROM durable.instances AS i
            WHERE i.status = 0 AND i.queue = lanes.queue AND i.priority = lanes.priority
              AND i.eligible_at > (SELECT now FROM clock)
            ORDER BY i.eligible_at LIMIT 1) AS next
        UNION ALL
        SELECT next.eligible_at FROM lanes CROSS JOIN LATERAL (
            SELECT a.eligible_at FROM durable.activities AS a
            WHERE a.status = 0 AND a.queue = lanes.queue AND a.priority = lanes.priority
              AND a.eligible_at > (SELECT now FROM clock) AND a.activity_type = ANY ($4)
            ORDER BY a.eligible_at LIMIT 1) AS next
        UNION ALL
        SELECT next.deadline FROM served CROSS JOIN LATERAL (
            SELECT a.deadline FROM durable.activities AS a
            WHERE a.status = 0 AND a.queue = served.queue AND a.deadline > (SELECT now FROM clock)
            ORDER BY a.deadline LIMIT 1) AS next
    ) AS later) AS next_due
