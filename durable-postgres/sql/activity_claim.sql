-- G1, G3, G7: takes the picked rows ($1), whose locks are held, and raises their epochs. $2 owner, $3 length of the
-- lease, $4 test clock. Joined back by id, never by ctid.
-- Index: primary keys.
WITH clock (now) AS MATERIALIZED (
    SELECT COALESCE($4::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)
)
UPDATE durable.activities AS a
SET status = 1, locked_by = $2, lease_expires_at = clock.now + LEAST($3::BIGINT, 9223372036854775807 - clock.now), epoch = a.epoch + 1
FROM clock
WHERE a.id = ANY ($1::BIGINT[])
RETURNING a.id, a.epoch, a.instance_id,
          (SELECT i.workflow_id FROM durable.instances AS i WHERE i.id = a.instance_id) AS workflow_id,
          a.run_id, a.command_id, a.activity_type, a.task, a.attempts, a.lost, a.backoff_due, a.deadline,
          a.last_failure, clock.now
