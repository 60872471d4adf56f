//! `?` converts errors in the body, in nested blocks and in helpers, as in any `async fn`.

use durable::WorkflowContext;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
enum CheckoutError {
    #[error("not a number")]
    Number,
    #[error("cancelled")]
    Cancelled,
}

impl From<std::num::ParseIntError> for CheckoutError {
    fn from(_: std::num::ParseIntError) -> Self {
        Self::Number
    }
}

type Outcome<T> = Result<T, CheckoutError>;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext, text: String) -> Outcome<u32> {
    let first: u32 = text.parse()?;
    ctx.sleep(std::time::Duration::from_secs(1)).await.map_err(|_| CheckoutError::Cancelled)?;
    let second = async { Ok::<u32, CheckoutError>(text.parse::<u32>()?) }.await?;
    Ok(first + second + parsed(&text).await?)
}

#[durable::helper]
async fn parsed(text: &str) -> Outcome<u32> {
    if text.is_empty() {
        return Err(CheckoutError::Number);
    }
    Ok(text.parse()?)
}

fn main() {}
