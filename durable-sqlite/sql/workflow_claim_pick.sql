-- G1, G9: runnable instances of queue ?1 in order of (priority, eligible time, id), at most ?3. One arm per
-- priority: each is a seek, so that what is not yet eligible at ?2 slows nothing. The caller keeps the first ?3.
-- The sum keeps SQLite from planning anew for each number: it looks at a bare parameter after LIMIT.
-- Index: instances_pick.
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 0 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 1 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 2 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 3 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 4 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 5 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 6 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 7 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 8 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
UNION ALL
SELECT * FROM (SELECT id, priority, eligible_at, claims_without_progress FROM instances
    WHERE status = 0 AND queue = ?1 AND priority = 9 AND eligible_at <= ?2
    ORDER BY eligible_at, id LIMIT ?3 + 0)
