//! The examples as programs. The main job end to end: real processes, real SIGKILLs, and the verifier that
//! judges them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

// The example's own modules, for their unit tests and for the verifier's.
#[path = "../../examples/checkout/attempts.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod attempts;
#[path = "../../examples/checkout/data.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod data;
#[path = "../../examples/checkout/dice.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod dice;
#[path = "../../examples/checkout/ledger.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod ledger;
#[path = "../../examples/checkout/orders.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod orders;
#[path = "../../examples/checkout/shop.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod shop;
#[path = "../../examples/checkout/verify.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod verify;

mod command;
mod hello;
mod processes;
mod upgrade;
mod verifier;
