-- G10: finds what an earlier try of the same request started.
-- Index: instances_request.
SELECT id, current_run FROM instances WHERE request_id = ?1
