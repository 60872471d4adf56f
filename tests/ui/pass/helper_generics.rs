//! Helpers may be generic, borrow, be methods, take patterns and recurse; they run without a workflow.

use std::fmt::Display;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use durable::WorkflowContext;

#[durable::helper]
async fn longest<'a>(a: &'a str, b: &'a str) -> &'a str {
    if a.len() >= b.len() { a } else { b }
}

#[durable::helper]
async fn shown<T, const N: usize>(ctx: Option<&WorkflowContext>, items: &[T; N], (left, right): (&str, &str)) -> String
where
    T: Display,
{
    let mut text = String::new();
    if let Some(ctx) = ctx {
        ctx.sleep(std::time::Duration::from_secs(1)).await.ok();
    }
    for item in items {
        text.push_str(&format!("{left}{item}{right}"));
    }
    longest(&text, "").await.to_owned()
}

struct Basket {
    items: Vec<u32>,
}

impl Basket {
    #[durable::helper]
    async fn first(&self) -> Option<&u32> {
        self.items.first()
    }

    #[durable::helper]
    pub async fn push(&mut self, mut item: u32) {
        item += 1;
        self.items.push(item);
    }
}

#[durable::helper]
async fn countdown(n: u32) -> u32 {
    if n == 0 { 0 } else { 1 + Box::pin(countdown(n - 1)).await }
}

#[durable::helper]
async fn evens(limit: u32) -> impl Iterator<Item = u32> {
    (0..limit).filter(|n| n % 2 == 0)
}

#[durable::helper]
async fn uses_both(ctx: &WorkflowContext) -> u32 {
    let mut basket = Basket { items: Vec::new() };
    basket.push(1).await;
    let _ = shown(Some(ctx), &["a"], ("<", ">")).await;
    basket.first().await.copied().unwrap_or_default() + evens(3).await.sum::<u32>()
}

fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future: Pin<&mut _> = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

fn main() {
    let _ = uses_both;
    assert_eq!(now(longest("ab", "abc")), "abc");
    assert_eq!(now(shown(None, &[1, 2], ("<", ">"))), "<1><2>");
    assert_eq!(now(countdown(3)), 3);
    let mut basket = Basket { items: Vec::new() };
    now(basket.push(6));
    assert_eq!(now(basket.first()), Some(&7));
}
