-- G1, G9: eligible activity rows of queue ?1 in order of (priority, eligible time, id), at most ?3, of the types in
-- ?4 (a JSON array); and rows past their deadline, whatever their type. One arm per priority: each is a seek, so
-- that what is not yet eligible at ?2 slows nothing. The caller sorts and keeps the first ?3.
-- The sum after LIMIT: see workflow_claim_pick.
-- Index: activities_pick, activities_deadline.
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 0 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 1 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 2 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 3 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 4 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 5 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 6 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 7 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 8 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND priority = 9 AND eligible_at <= ?2
      AND activity_type IN (SELECT value FROM json_each(?4))
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION
SELECT * FROM (SELECT id, priority, eligible_at, lost FROM activities
    WHERE status = 0 AND queue = ?1 AND deadline <= ?2
    ORDER BY deadline LIMIT ?3 + 0)
