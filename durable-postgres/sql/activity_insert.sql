-- G2: durable activity rows, for what the flush's heads committed. $1 test clock, $2 instances, $3 flushes, $4 commands,
-- $5 types, $6 queues, $7 priorities, $8 delays, $9 attempts, $10 lost, $11 deadlines, $12 tasks, $13 last failures.
-- In the order of the commands: ids decide between rows of one priority and eligible time (G9).
-- Index: every index over runnable activities.
-- It joins by the primary key.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($1::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
)
INSERT INTO durable.activities (instance_id, run_id, command_id, activity_type, queue, priority, eligible_at, attempts,
                                lost, deadline, task, last_failure, created_at)
SELECT i.id, i.current_run, new.command_id, new.activity_type, new.queue, new.priority,
       clock.now + LEAST(new.delay, 9223372036854775807 - clock.now), new.attempts, new.lost, new.deadline, new.task, new.last_failure, clock.now
FROM unnest($2::BIGINT[], $3::UUID[], $4::BIGINT[], $5::TEXT[], $6::TEXT[], $7::SMALLINT[], $8::BIGINT[],
            $9::INTEGER[], $10::INTEGER[], $11::BIGINT[], $12::BYTEA[], $13::BYTEA[]) WITH ORDINALITY
     AS new (instance_id, flush, command_id, activity_type, queue, priority, delay, attempts, lost, deadline, task,
             last_failure, place)
JOIN durable.instances AS i ON i.id = new.instance_id AND i.last_flush = new.flush
CROSS JOIN clock
WHERE i.id = ANY ($2)
ORDER BY new.place
