-- G10: finds what earlier tries of the same requests ($1) started.
-- Index: instances_request.
SELECT request_id, id, current_run FROM durable.instances WHERE request_id = ANY ($1::UUID[])
