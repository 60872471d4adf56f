//! The suite on the provider in memory.

use std::sync::Arc;

use durable_testkit::MemoryProvider;
use durable_testkit::conformance::Harness;

async fn open() -> Harness {
    let provider = MemoryProvider::new();
    let (killer, dumper) = (provider.clone(), provider.clone());
    Harness::new(Arc::new(provider), move |incarnation| killer.kill(incarnation), ())
        .with_dump(move || std::future::ready(dumper.dump()))
}

durable_testkit::conformance!(open);
