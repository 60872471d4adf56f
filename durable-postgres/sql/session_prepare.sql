-- G4, G10: what every connection of ours relies on, whatever the server's, database's or role's defaults say: READ
-- COMMITTED, commits on disk before they are acknowledged, bounded waits for locks ($1), plans that seek. A table that
-- was empty when its plan was cached must not be walked when it is full; a transaction left open by a lost client ends.
-- Index: none.
SELECT set_config('default_transaction_isolation', 'read committed', FALSE),
       set_config('synchronous_commit',
                  CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END,
                  FALSE),
       set_config('lock_timeout', $1, FALSE),
       set_config('idle_in_transaction_session_timeout', '60s', FALSE),
       set_config('enable_seqscan', 'off', FALSE),
       set_config('jit', 'off', FALSE)
