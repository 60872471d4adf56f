-- G3: whether a successor took the slot of this incarnation; no row: so long ago that it was forgotten.
-- Index: primary key.
SELECT superseded_at IS NOT NULL FROM durable.workers WHERE incarnation = $1
