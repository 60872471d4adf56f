//! Stand-in for durable-core's workflow and activity types until they are merged.
#![allow(missing_docs, missing_debug_implementations, unreachable_pub, clippy::pedantic)]

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::ops::DerefMut;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use durable_core::payload::{DataError, DurableData, Payload};

pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub type LocalBoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

#[derive(Clone)]
pub struct WorkflowContext(Rc<()>);
pub struct ActivityContext(());

impl WorkflowContext {
    pub fn sleep(&self, _: std::time::Duration) -> Durable<std::future::Ready<Result<(), String>>> {
        Durable(Box::pin(std::future::ready(Ok(()))))
    }
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a durable future and cannot be awaited in a workflow",
    label = "this future is not replayed from history",
    note = "call it from an `#[activity]`, or use a `ctx` operation such as `ctx.sleep(..)`",
    note = "a helper `async fn` that only awaits durable futures must be marked `#[durable::helper]`"
)]
pub trait DurableFuture: Future {}
#[diagnostic::do_not_recommend]
impl<F: DurableFuture + Unpin + ?Sized> DurableFuture for &mut F {}
#[diagnostic::do_not_recommend]
impl<P: DerefMut> DurableFuture for Pin<P> where P::Target: DurableFuture {}

pub struct Durable<F>(Pin<Box<F>>);
impl<F: Future> Future for Durable<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(cx)
    }
}
#[diagnostic::do_not_recommend]
impl<F: Future> DurableFuture for Durable<F> {}
pub struct Block<F>(Pin<Box<F>>);
impl<F: Future> Future for Block<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(cx)
    }
}
#[diagnostic::do_not_recommend]
impl<F: Future> DurableFuture for Block<F> {}

pub fn check<F: IntoFuture>(future: F) -> F::IntoFuture
where
    F::IntoFuture: DurableFuture,
{
    future.into_future()
}
pub fn block<F: Future>(f: F) -> Block<F> {
    Block(Box::pin(f))
}
pub fn durable<F: Future>(f: F) -> Durable<F> {
    Durable(Box::pin(f))
}

pub struct ActivityOptions;
#[derive(Debug)]
pub struct OptionsSpec {
    pub start_to_close_us: Option<u64>,
    pub schedule_to_close_us: Option<u64>,
    pub initial_us: Option<u64>,
    pub max_us: Option<u64>,
    pub coefficient: Option<f64>,
    pub max_attempts: Option<u32>,
    pub jitter: Option<f64>,
}
pub fn activity_options(spec: OptionsSpec) -> ActivityOptions {
    drop(spec);
    ActivityOptions
}

pub use durable_core::private::ErrorReport;
#[diagnostic::on_unimplemented(message = "`{Self}` is not an activity", label = "not marked `#[activity]`")]
pub trait Activity: Sized + 'static {
    type Input: Send + 'static;
    type Output: DurableData + Send;
    type Error: DurableData + Send;
    const NAME: &'static str;
    fn options() -> ActivityOptions;
    fn encode(input: &Self::Input) -> Result<Payload, DataError>;
    fn decode(payload: &Payload) -> Result<Self::Input, DataError>;
    fn report(error: &Self::Error) -> ErrorReport;
    fn run(ctx: ActivityContext, input: Self::Input) -> BoxFuture<Result<Self::Output, Self::Error>>;
}
#[diagnostic::on_unimplemented(message = "`{Self}` is not a workflow", label = "not marked `#[workflow]`")]
pub trait Workflow: Sized + 'static {
    type Input: 'static;
    type Output: DurableData;
    type Error: DurableData;
    const NAME: &'static str;
    fn encode(input: &Self::Input) -> Result<Payload, DataError>;
    fn decode(payload: &Payload) -> Result<Self::Input, DataError>;
    fn report(error: &Self::Error) -> ErrorReport;
    fn run(ctx: WorkflowContext, input: Self::Input) -> LocalBoxFuture<Result<Self::Output, Self::Error>>;
}

#[must_use = "a call does nothing until it is awaited, joined or spawned"]
pub struct ActivityCall<A: Activity>(PhantomData<fn() -> A>);
impl<A: Activity> ActivityCall<A> {
    #[track_caller]
    pub fn new(_: &WorkflowContext, _: A::Input) -> Self {
        Self(PhantomData)
    }
}
impl<A: Activity> Future for ActivityCall<A> {
    type Output = Result<A::Output, A::Error>;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        unimplemented!()
    }
}
#[diagnostic::do_not_recommend]
impl<A: Activity> DurableFuture for ActivityCall<A> {}
#[must_use = "a call does nothing until it is awaited, joined or spawned"]
pub struct ChildCall<W: Workflow>(PhantomData<fn() -> W>);
impl<W: Workflow> ChildCall<W> {
    #[track_caller]
    pub fn new(_: &WorkflowContext, _: W::Input) -> Self {
        Self(PhantomData)
    }
}
impl<W: Workflow> Future for ChildCall<W> {
    type Output = Result<W::Output, W::Error>;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        unimplemented!()
    }
}
#[diagnostic::do_not_recommend]
impl<W: Workflow> DurableFuture for ChildCall<W> {}

pub async fn join2<A: Future, B: Future>(_: A, _: B) -> (A::Output, B::Output) {
    unimplemented!()
}
#[macro_export]
macro_rules! join {
    ($a:expr, $b:expr $(,)?) => {
        $crate::__private::join2($a, $b).await
    };
}
