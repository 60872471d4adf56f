-- G2, G3, G6, G7, G10: a flush. First every instance that it touches is locked, in order of id; then the clock is read;
-- then come the guarded heads, one per run, and the rows of history that ride on them. $1 owner, $2 test clock, $3 length
-- of the lease; then one array per column, and the history ($20 instances, $21 first and $22 next events, $23 bytes), $24 next runs.
-- Guard: owner (only what executes has one, by a CHECK), epoch, expected next event, current run, lease, and not this
-- flush itself: a commit without events leaves the next event as it was, repeated it would be made twice. The lease is
-- asked of the row as it was locked: a renewal that committed while this waited is not in the statement's snapshot, and
-- a condition on the old version would refuse a living owner. All else in the guard only its owner or its end changes.
-- block: 0 keep, 1 set (reason, build), 2 clear. disposition: 0 keep, 1 wait (wake_at), 2 yield, 3 block (retry_after),
-- 4 close (close_status, outcome). A wait with an unread message or a due time is runnable instead. A commit that
-- continues yields, and next_run is the run that begins; else it is NULL. The history of the run that ends rides here,
-- that of the next one later: a continued instance has another current run by then.
-- Index: primary key.
WITH held AS MATERIALIZED (
    SELECT id, lease_expires_at FROM durable.instances WHERE id = ANY ($4::BIGINT[]) ORDER BY id FOR NO KEY UPDATE
),
clock (now) AS MATERIALIZED (
    SELECT COALESCE($2::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
    FROM (SELECT count(*) FROM held) AS locked
),
turn AS (
    SELECT t.*,
           t.disposition = 1 AND t.wake_at <= clock.now AS is_due,
           clock.now,
           clock.now + LEAST($3::BIGINT, 9223372036854775807 - clock.now) AS lease_end,
           clock.now + LEAST(t.retry_after, 9223372036854775807 - clock.now) AS retry_at
    FROM unnest($4, $5::BIGINT[], $6::BIGINT[], $7::UUID[], $8::UUID[], $9::BIGINT[], $10::BIGINT[],
                $11::BOOLEAN[], $12::SMALLINT[], $13::BYTEA[], $14::TEXT[], $15::SMALLINT[], $16::BIGINT[],
                $17::BIGINT[], $18::SMALLINT[], $19::BYTEA[], $24::UUID[])
         AS t (id, epoch, expected, run_id, flush, next_event, consumed, progress, block, reason, build, disposition,
               wake_at, retry_after, close_status, outcome, next_run)
    JOIN held ON held.id = t.id
    CROSS JOIN clock
    WHERE held.lease_expires_at > clock.now
),
head AS (
    UPDATE durable.instances AS i
    SET next_event_id = turn.next_event,
        current_run = COALESCE(turn.next_run, i.current_run),
        run_number = i.run_number + (turn.next_run IS NOT NULL)::INTEGER,
        last_flush = turn.flush,
        inbox_seen = GREATEST(i.inbox_seen, turn.consumed),
        claims_without_progress = CASE
            WHEN turn.progress THEN 0
            WHEN turn.block = 1 THEN GREATEST(0, i.claims_without_progress - 1)
            ELSE i.claims_without_progress END,
        owner_lost = FALSE,
        blocked_reason = CASE turn.block WHEN 0 THEN i.blocked_reason WHEN 1 THEN turn.reason END,
        blocked_build = CASE turn.block WHEN 0 THEN i.blocked_build WHEN 1 THEN turn.build END,
        blocked_attempts = CASE turn.block WHEN 0 THEN i.blocked_attempts WHEN 1 THEN i.blocked_attempts + 1 ELSE 0 END,
        status = CASE turn.disposition
            WHEN 0 THEN 1
            WHEN 1 THEN CASE WHEN i.inbox_seq > GREATEST(i.inbox_seen, turn.consumed) OR turn.is_due THEN 0 ELSE 2 END
            WHEN 2 THEN 0
            WHEN 3 THEN 3
            ELSE turn.close_status END,
        eligible_at = CASE
            WHEN turn.is_due THEN turn.wake_at
            WHEN turn.disposition IN (1, 2) THEN turn.now
            ELSE i.eligible_at END,
        wake_at = CASE
            WHEN turn.disposition = 1 AND i.inbox_seq <= GREATEST(i.inbox_seen, turn.consumed) AND NOT turn.is_due
                THEN turn.wake_at
            WHEN turn.disposition = 3 THEN CASE WHEN turn.retry_after IS NOT NULL THEN turn.retry_at END END,
        locked_by = CASE WHEN turn.disposition = 0 THEN i.locked_by END,
        lease_expires_at = CASE WHEN turn.disposition = 0 THEN GREATEST(i.lease_expires_at, turn.lease_end) END,
        outcome = CASE WHEN turn.disposition = 4 THEN turn.outcome ELSE i.outcome END,
        closed_at = CASE WHEN turn.disposition = 4 THEN turn.now END,
        updated_at = turn.now
    FROM turn
    WHERE i.id = ANY ($4) AND i.id = turn.id
      AND i.locked_by = $1 AND i.epoch = turn.epoch AND i.next_event_id = turn.expected
      AND i.current_run = turn.run_id AND i.last_flush IS DISTINCT FROM turn.flush
    RETURNING i.id, turn.run_id, i.status, i.inbox_seq, turn.now
),
written AS (
    INSERT INTO durable.history (run_id, first_event_id, next_event_id, bytes)
    SELECT head.run_id, new.first_event_id, new.next_event_id, new.bytes
    FROM unnest($20::BIGINT[], $21::BIGINT[], $22::BIGINT[], $23::BYTEA[])
         AS new (instance_id, first_event_id, next_event_id, bytes)
    JOIN head ON head.id = new.instance_id
)
SELECT id, status, inbox_seq, now FROM head
