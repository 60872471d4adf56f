-- G2: activity rows of a closed instance are gone; whoever runs one is told so when it settles.
-- Index: activities_instance.
DELETE FROM activities WHERE instance_id = ?1
