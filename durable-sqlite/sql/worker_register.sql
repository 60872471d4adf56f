-- G8: makes an incarnation known, so that its successor can free what it holds.
-- Index: primary key.
INSERT INTO workers (incarnation, slot, build, registered_at) VALUES (?1, ?2, ?3, ?4)
