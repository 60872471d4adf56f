//! Durable execution as a library.
