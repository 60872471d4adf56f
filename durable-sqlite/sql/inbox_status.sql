-- G12: whether there is such an instance, and how it stands.
-- Index: primary key.
SELECT status FROM instances WHERE id = ?1
