//! What the log says where nothing else would.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use durable::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::harness::{Fixture, in_world};

/// Keeps the texts of warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 = format!("{} {}={value:?}", self.0, field.name());
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

#[activity]
async fn elsewhere(_ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    Ok(n)
}

#[workflow]
async fn sends_away(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let (one, two) = durable::join!(elsewhere(ctx, 1), elsewhere(ctx, 2));
    Ok(one? + two?)
}

#[test]
fn an_activity_that_the_worker_does_not_have_is_told_of_once() {
    let warnings = Warnings::default();
    let _heard = tracing::subscriber::set_default(warnings.clone());
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let here = fixture.durable.worker().workflow::<sends_away>().build_id("one").start().await.unwrap();
        let run = fixture.durable.client().start::<sends_away>("s", ()).await.unwrap();
        let there = fixture.durable.worker().activity::<elsewhere>().build_id("one").start().await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 3);
        tokio::join!(here.shutdown(), there.shutdown());
    });
    let told = warnings.0.lock().unwrap();
    let told: Vec<_> = told.iter().filter(|text| text.contains("does not have the activity")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("elsewhere") && told[0].contains(".activity::<..>()"), "{told:?}");
}
