-- G8: makes an incarnation known, so that what it holds can be freed for its successor. $4 test clock.
-- Index: primary key.
INSERT INTO durable.workers (incarnation, slot, build, registered_at)
VALUES ($1, $2, $3, COALESCE($4::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT))
RETURNING registered_at
