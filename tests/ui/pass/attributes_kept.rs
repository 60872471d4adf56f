//! Documentation and attributes are kept, and nothing warns in the user's crate.
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications)]
#![allow(dead_code)]

use durable::{ActivityContext, WorkflowContext};

/// Charges a card.
#[durable::activity]
#[cfg(not(any()))]
#[deprecated(note = "use the other")]
#[allow(clippy::ptr_arg)]
pub async fn charge(_ctx: &ActivityContext, #[allow(unused_variables)] cents: u64) -> Result<(), String> {
    Ok(())
}

#[durable::activity]
#[cfg(any())]
async fn not_here(_ctx: &ActivityContext, x: Missing) -> Result<(), String> {
    Ok(())
}

/// Sells.
#[expect(unused_variables)]
#[durable::workflow]
pub async fn checkout(ctx: &WorkflowContext, order: u32) -> Result<(), String> {
    #[allow(deprecated)]
    let charged = (charge(ctx, 1)).await;
    (&mut Box::pin(async {})).await;
    charged.map_err(|_| String::new())
}

/// Helps.
///
/// With docs.
#[durable::helper]
#[inline]
pub async fn help(_ctx: &WorkflowContext) {}

fn main() {}
