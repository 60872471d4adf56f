//! The provider on a real server: the common suite, query plans, races, lost connections.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

mod conformance;
mod fixture;
mod lost;
mod plans;
mod races;
mod schema;
