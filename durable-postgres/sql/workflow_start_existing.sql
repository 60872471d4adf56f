-- G10: the instance that each start meets (workflow ids $1): the open one, else the one that closed last. Run before the
-- insert, and again after it without the rows that it made ($2): what closed in between is found.
-- Index: instances_workflow_id.
SELECT asked.place, met.id, met.current_run, met.workflow_type, met.input_digest, met.status
FROM unnest($1::TEXT[]) WITH ORDINALITY AS asked (workflow_id, place)
CROSS JOIN LATERAL (
    SELECT i.id, i.current_run, i.workflow_type, i.input_digest, i.status
    FROM durable.instances AS i
    WHERE i.workflow_id = asked.workflow_id AND i.id <> ALL ($2::BIGINT[])
    ORDER BY (i.status < 10) DESC, i.closed_at DESC NULLS LAST, i.id DESC
    LIMIT 1
) AS met
