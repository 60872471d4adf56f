//! The attributes of `durable`: [`macro@workflow`], [`macro@activity`] and [`macro@helper`].
//!
//! The way of an item: `parse` reads syntax, `options` and `check` apply every rule and report all
//! errors at once, `model` holds what passed, `expand` generates code and cannot fail, `rewrite`
//! checks the awaits of workflow code, `fallback` keeps secondary errors away when a rule was broken.

mod check;
mod duration;
mod errors;
mod expand;
mod fallback;
mod model;
mod options;
mod parse;
mod rewrite;
mod select;

use proc_macro::TokenStream;

use crate::model::Kind;

/// Makes an `async fn` a workflow: code that survives crashes by being replayed from its history.
///
/// ```
/// use durable::WorkflowContext;
///
/// /// Sells one order.
/// #[durable::workflow]
/// async fn checkout(ctx: &WorkflowContext, order: String, cents: u64) -> Result<u64, String> {
///     let _ = (ctx, order);
///     Ok(cents)
/// }
/// # fn main() {}
/// ```
///
/// Under the fn's name there are then two items: the type `checkout`, an empty enum that implements
/// `Workflow` and carries the docs, for `worker.workflow::<checkout>()` and `client.start::<checkout>(..)`;
/// and the fn `checkout(ctx, order, cents)`, which another workflow calls to run it as a child. It does
/// nothing until the call is awaited, joined or spawned. `checkout::body(&ctx, order, cents)` is the body
/// itself, for unit tests.
///
/// # What the fn looks like
///
/// - The context comes first, written `&WorkflowContext`.
/// - At most 12 arguments follow. They are recorded as one JSON object keyed by parameter name, without
///   `r#` and leading underscores: renaming a parameter changes the format, reordering does not, and a new
///   one must be an `Option`, which reads as `None` where older code recorded nothing.
/// - It returns `Result<T, E>`, also through an alias. Arguments, `T` and `E` are plain data: serde can
///   write and read them, and they own what they hold.
/// - No generics, lifetimes, `self`, `unsafe`, `const` or `extern`.
///
/// # What the body may await
///
/// Durable futures only: calls of activities and workflows, operations of the context, `async {}` blocks
/// (their own awaits are checked), `durable::join!`, and [`macro@helper`] fns. The compiler refuses
/// everything else. `join!` of any crate is replaced by durable's; `select!` and async closures are refused.
///
/// # What must come out the same
///
/// After a crash the body runs again from its start, with recorded results. The compiler does not yet refuse
/// clocks, randomness, the environment or I/O between two awaits: use `ctx.now()`, `ctx.random()`,
/// `ctx.uuid()`, `ctx.side_effect(..)` or an activity.
///
/// # An error of your own
///
/// `ctx.sleep(..).await?` needs `From<Cancelled>`, an activity's `?` needs `From<ActivityError<E>>`.
/// `WorkflowError` has both, from any error.
///
/// # Options
///
/// | option | default | meaning |
/// |---|---|---|
/// | `name = "…"` | the fn's name | the name under which runs are recorded, at most 255 bytes |
///
/// # Errors
///
/// Each broken rule is a compile error at the tokens that break it.
///
/// # Traps
///
/// Link to the fn as `` [`checkout()`] `` in docs. `mod checkout; pub use checkout::checkout;` is E0255, as
/// the type and the module share a name: call the module something else. A type in the signature that is
/// more private than the fn is E0446: give the fn the visibility of its types.
#[proc_macro_attribute]
pub fn workflow(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Workflow, args.into(), &item.into()).into()
}

/// Makes an `async fn` an activity: code that does I/O, is retried, and whose result is recorded.
///
/// ```
/// use durable::ActivityContext;
///
/// #[durable::activity(start_to_close = "10s", retry(max_attempts = 5, initial = "200ms"))]
/// async fn charge_card(ctx: &ActivityContext, order: String, cents: u64) -> Result<u64, String> {
///     let _ = (ctx, order);
///     Ok(cents)
/// }
/// # fn main() {}
/// ```
///
/// Under the fn's name there are then the type `charge_card`, an empty enum that implements `Activity`, for
/// `worker.activity::<charge_card>()`; and the fn `charge_card(ctx, order, cents)`, which a *workflow* calls
/// (its first parameter is `&WorkflowContext`). `charge_card::body(&ctx, order, cents)` is the body itself.
///
/// The rules for the fn are those of [`macro@workflow`], with `&ActivityContext` first. The body may await
/// anything; its future moves between threads, so it must be `Send`.
///
/// # Options
///
/// Durations are whole numbers with a unit, in quotes: `"250us"`, `"200ms"`, `"10s"`, `"5m"`, `"1h"`, `"2d"`.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `name = "…"` | the fn's name | the name under which it is recorded, at most 255 bytes |
/// | `start_to_close = "…"` | `"5m"` | time limit of one attempt |
/// | `schedule_to_close = "…"` | no limit | time limit of all attempts and the waiting between them |
/// | `retry(initial = "…")` | `"1s"` | delay before the second attempt |
/// | `retry(coefficient = …)` | `2.0` | factor from one delay to the next, at least 1 |
/// | `retry(max = "…")` | 100 × `initial` | longest delay |
/// | `retry(max_attempts = …)` | no limit | attempts in all, the first included |
/// | `retry(jitter = …)` | `0.1` | share of each delay that is spread at random, 0 to 1 |
///
/// # Errors
///
/// Each broken rule is a compile error at the tokens that break it.
#[proc_macro_attribute]
pub fn activity(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Activity, args.into(), &item.into()).into()
}

/// Makes an `async fn` callable from workflow code: its awaits are checked as a workflow's are.
///
/// ```
/// #[durable::helper]
/// async fn longest<'a>(a: &'a str, b: &'a str) -> &'a str {
///     if a.len() >= b.len() { a } else { b }
/// }
/// # fn main() {}
/// ```
///
/// The fn becomes a plain one that returns a durable future, which does nothing until it is awaited. It may
/// be generic, borrow, and be a method; it may return anything. A fn that calls itself wraps the call in
/// `Box::pin(..)`, as every `async fn` must.
///
/// # Errors
///
/// An item that is no `async fn`, and each await of a future that is not durable, is a compile error.
#[proc_macro_attribute]
pub fn helper(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::helper(args.into(), item.into()).into()
}

/// Waits for several durable futures at once and goes on with the one that history resolves first.
///
/// ```
/// # use durable::prelude::*;
/// # use std::time::Duration;
/// # #[activity] async fn answer(_ctx: &ActivityContext) -> Result<u32, String> { Ok(42) }
/// #[workflow]
/// async fn ask(ctx: &WorkflowContext) -> Result<Option<u32>, WorkflowError> {
///     durable::select! {
///         answered = answer(ctx) => Ok(Some(answered?)),
///         slept = ctx.sleep(Duration::from_secs(30)) => {
///             slept?;
///             Ok(None)
///         }
///     }
/// }
/// # fn main() {}
/// ```
///
/// A branch is `pattern = future => handler`, or `pattern = future, if condition => handler`; the last may be
/// `else => handler`. As in tokio's macro of the same name:
///
/// - A branch whose condition does not hold is disabled. Its future is not even made.
/// - A branch that ends with a value which its pattern does not fit is disabled from then on.
/// - With every branch disabled, `else` runs; without one, the workflow panics, which blocks the run.
/// - `value = &mut future` keeps a future that is not the first: it can be awaited later, and is the same command.
///
/// Unlike there, the choice is never random. Results count in the order in which history holds them, ties in source order,
/// so every replay goes the same way. What loses is dropped, in source order, before the handler runs: an activity is asked
/// to cancel, a timer is given up. Each branch has a key scope of its own. The `.await` is inside the macro, which may stand
/// only in workflow code.
#[proc_macro]
pub fn select(tokens: TokenStream) -> TokenStream {
    let select = syn::parse_macro_input!(tokens as select::Select);
    select::expand(&select).into()
}
