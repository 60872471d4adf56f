//! Test tools of `durable`.
