-- G2, G10: makes the instances of starts, in order of their workflow ids, so that two that race meet at
-- instances_open_workflow_id or instances_request in one order and never in a circle. What met another is not returned.
-- $1 workflow ids, $2 types, $3 digests, $4 requests, $5 runs, $6 queues, $7 priorities, $8 next events, $9 test clocks.
-- Index: every index over runnable instances.
INSERT INTO durable.instances (workflow_id, workflow_type, input_digest, request_id, current_run, run_number, status,
                               queue, priority, eligible_at, next_event_id, created_at, updated_at)
SELECT new.workflow_id, new.workflow_type, new.input_digest, new.request_id, new.run_id, 1, 0,
       new.queue, new.priority, stamped.now, new.next_event_id, stamped.now, stamped.now
FROM unnest($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::UUID[], $5::UUID[], $6::TEXT[], $7::SMALLINT[], $8::BIGINT[],
            $9::BIGINT[]) WITH ORDINALITY
     AS new (workflow_id, workflow_type, input_digest, request_id, run_id, queue, priority, next_event_id, now, place)
CROSS JOIN LATERAL (SELECT COALESCE(new.now, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT) AS now) AS stamped
ORDER BY new.workflow_id COLLATE "C", new.place
ON CONFLICT DO NOTHING
RETURNING id, request_id
