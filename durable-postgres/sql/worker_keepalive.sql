-- G8: a liveness connection whose client vanished without a word is noticed within half a minute, and its lock is free.
-- Index: none.
SELECT set_config('tcp_keepalives_idle', '10', FALSE),
       set_config('tcp_keepalives_interval', '5', FALSE),
       set_config('tcp_keepalives_count', '3', FALSE)
