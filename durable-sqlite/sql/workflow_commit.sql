-- G2, G3, G6: the guarded head of one run's commit; everything else rides on it.
-- Guard: ?1 instance, ?2 owner, ?3 epoch, ?4 expected next event, ?5 now, ?6 run, and not this flush itself: a commit
-- without events leaves the next event as it was, so that repeated it would be made twice.
-- ?7 next event after it, ?8 flush, ?9 consumed through, ?10 progress.
-- ?11 block: 0 keep, 1 set (?12 reason, ?13 build), 2 clear.
-- ?14 disposition: 0 keep (?15 lease end), 1 wait (?16 wake time), 2 yield, 3 block (?16 retry time),
-- 4 close (?17 status, ?18 outcome). A wait with an unread message or a due time is runnable instead. A commit that
-- continues yields, and ?19 is the run that begins; else it is NULL.
-- Index: primary key.
UPDATE instances
SET next_event_id = ?7,
    current_run = COALESCE(?19, current_run),
    run_number = run_number + (?19 IS NOT NULL),
    last_flush = ?8,
    inbox_seen = MAX(inbox_seen, ?9),
    claims_without_progress = CASE
        WHEN ?10 THEN 0
        WHEN ?11 = 1 THEN MAX(0, claims_without_progress - 1)
        ELSE claims_without_progress END,
    owner_lost = 0,
    blocked_reason = CASE ?11 WHEN 0 THEN blocked_reason WHEN 1 THEN ?12 END,
    blocked_build = CASE ?11 WHEN 0 THEN blocked_build WHEN 1 THEN ?13 END,
    blocked_attempts = CASE ?11 WHEN 0 THEN blocked_attempts WHEN 1 THEN blocked_attempts + 1 ELSE 0 END,
    status = CASE ?14
        WHEN 0 THEN 1
        WHEN 1 THEN CASE WHEN inbox_seq > MAX(inbox_seen, ?9) OR ?16 <= ?5 THEN 0 ELSE 2 END
        WHEN 2 THEN 0
        WHEN 3 THEN 3
        ELSE ?17 END,
    eligible_at = CASE
        WHEN ?14 = 1 AND ?16 <= ?5 THEN ?16
        WHEN ?14 IN (1, 2) THEN ?5
        ELSE eligible_at END,
    wake_at = CASE
        WHEN ?14 = 1 AND inbox_seq <= MAX(inbox_seen, ?9) AND ?16 > ?5 THEN ?16
        WHEN ?14 = 3 THEN ?16 END,
    locked_by = CASE WHEN ?14 = 0 THEN locked_by END,
    lease_expires_at = CASE WHEN ?14 = 0 THEN MAX(lease_expires_at, ?15) END,
    outcome = CASE WHEN ?14 = 4 THEN ?18 ELSE outcome END,
    closed_at = CASE WHEN ?14 = 4 THEN ?5 END,
    updated_at = ?5
WHERE id = ?1 AND locked_by = ?2 AND status = 1 AND epoch = ?3 AND next_event_id = ?4
  AND lease_expires_at > ?5 AND current_run = ?6 AND last_flush IS NOT ?8
RETURNING status, inbox_seq
