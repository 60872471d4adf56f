-- G10: an outcome locks its instance first, all of a batch in order of id. The instance of a row ($1) never changes.
-- Index: primary keys.
SELECT id, status
FROM durable.instances
WHERE id = ANY (ARRAY (SELECT a.instance_id FROM durable.activities AS a WHERE a.id = ANY ($1::BIGINT[])))
ORDER BY id
FOR NO KEY UPDATE
