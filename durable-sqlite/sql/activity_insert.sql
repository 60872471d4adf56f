-- G2: one durable activity row; rides on the head of its run's commit.
-- Index: every index over runnable activities.
INSERT INTO activities (instance_id, run_id, command_id, activity_type, queue, priority, eligible_at, attempts, lost,
                        deadline, task, last_failure, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
