//! The `SQLite` provider of `durable`.
