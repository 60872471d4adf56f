-- G9: what there is to do, in one read. ?1 test clock, ?2 owner, ?3 queues and ?4 activity types (JSON arrays).
-- Index: instances_pick, instances_wake, instances_lease, instances_owner, activities_pick, activities_deadline,
-- activities_lease; each look-up is a seek per queue and priority.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE(?1, CAST(round(unixepoch('subsec') * 1000.0) AS INTEGER) * 1000)
),
priorities (priority) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)),
lanes (queue, priority) AS MATERIALIZED (
    SELECT served.value, priorities.priority FROM json_each(?3) AS served CROSS JOIN priorities
)
SELECT
    (SELECT now FROM clock) AS now,
    EXISTS (SELECT 1 FROM lanes CROSS JOIN instances AS i
            WHERE i.status = 0 AND i.queue = lanes.queue AND i.priority = lanes.priority
              AND i.eligible_at <= (SELECT now FROM clock)) AS runnable,
    EXISTS (SELECT 1 FROM instances WHERE status IN (2, 3) AND wake_at <= (SELECT now FROM clock)) AS due,
    EXISTS (SELECT 1 FROM instances WHERE status = 1 AND lease_expires_at <= (SELECT now FROM clock))
        OR EXISTS (SELECT 1 FROM activities WHERE status = 1 AND lease_expires_at <= (SELECT now FROM clock))
        AS expired,
    EXISTS (SELECT 1 FROM lanes CROSS JOIN activities AS a
            WHERE a.status = 0 AND a.queue = lanes.queue AND a.priority = lanes.priority
              AND a.eligible_at <= (SELECT now FROM clock)
              AND a.activity_type IN (SELECT value FROM json_each(?4)))
        OR EXISTS (SELECT 1 FROM json_each(?3) AS served CROSS JOIN activities AS a
                   WHERE a.status = 0 AND a.queue = served.value AND a.deadline <= (SELECT now FROM clock))
        AS activities,
    EXISTS (SELECT 1 FROM instances WHERE status = 1 AND locked_by = ?2 AND inbox_seq > inbox_seen) AS inbox,
    (SELECT MIN(due) FROM (
        SELECT MIN(wake_at) AS due FROM instances WHERE status IN (2, 3) AND wake_at > (SELECT now FROM clock)
        UNION ALL
        SELECT MIN((SELECT i.eligible_at FROM instances AS i
                    WHERE i.status = 0 AND i.queue = lanes.queue AND i.priority = lanes.priority
                      AND i.eligible_at > (SELECT now FROM clock)
                    ORDER BY i.eligible_at LIMIT 1)) FROM lanes
        UNION ALL
        SELECT MIN((SELECT a.eligible_at FROM activities AS a
                    WHERE a.status = 0 AND a.queue = lanes.queue AND a.priority = lanes.priority
                      AND a.eligible_at > (SELECT now FROM clock)
                      AND a.activity_type IN (SELECT value FROM json_each(?4))
                    ORDER BY a.eligible_at LIMIT 1)) FROM lanes
        UNION ALL
        SELECT MIN((SELECT a.deadline FROM activities AS a
                    WHERE a.status = 0 AND a.queue = served.value AND a.deadline > (SELECT now FROM clock)
                    ORDER BY a.deadline LIMIT 1)) FROM json_each(?3) AS served
    )) AS next_due
