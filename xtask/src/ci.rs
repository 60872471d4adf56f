//! What has to hold before a commit, in order, as data: cheap checks first, so that most failures cost
//! seconds. It does not know how a step is run or shown; that is `test.rs`.

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// What it checks, as printed.
    pub(crate) name: &'static str,
    /// How it is done.
    pub(crate) action: Action,
    /// Whether `--quick` keeps it.
    pub(crate) in_quick: bool,
}

/// How a step is done.
#[derive(Debug)]
pub(crate) enum Action {
    /// The project's own rules, in this process.
    Tidy,
    /// Cargo with these arguments and these environment variables.
    Cargo { arguments: &'static [&'static str], environment: &'static [(&'static str, &'static str)] },
}

const fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, action: Action::Cargo { arguments, environment: &[] }, in_quick: true }
}

const fn full_only(step: Step) -> Step {
    Step { in_quick: false, ..step }
}

/// Every step, in the order in which it runs. Examples are built before the tests, which start some of them.
pub(crate) const STEPS: &[Step] = &[
    cargo("format", &["fmt", "--all", "--check"]),
    Step { name: "tidy", action: Action::Tidy, in_quick: true },
    full_only(cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    full_only(cargo("features: none", &["check", "-p", "durable", "--no-default-features"])),
    full_only(cargo(
        "features: sqlite",
        &["check", "-p", "durable", "--no-default-features", "-F", "sqlite"],
    )),
    full_only(cargo(
        "features: postgres",
        &["check", "-p", "durable", "--no-default-features", "-F", "postgres"],
    )),
    full_only(cargo(
        "features: both",
        &["check", "-p", "durable", "--no-default-features", "-F", "sqlite,postgres"],
    )),
    Step {
        name: "documentation",
        action: Action::Cargo {
            arguments: &["doc", "--no-deps", "--workspace"],
            environment: &[("RUSTDOCFLAGS", "-D warnings")],
        },
        in_quick: false,
    },
    cargo("examples", &["build", "--workspace", "--examples"]),
    cargo(
        "tests",
        &[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--examples",
            "--",
            "--skip",
            "explorer::",
            "--skip",
            "simulation::",
        ],
    ),
    // Apart, so that they print what they tried and the seeds that repeat it.
    cargo(
        "crashes and simulations",
        &[
            "test",
            "--test",
            "runtime_memory",
            "--test",
            "runtime",
            "--",
            "--nocapture",
            "explorer::",
            "simulation::",
        ],
    ),
    cargo("doctests", &["test", "--workspace", "--doc"]),
    // Not for speed: what it needs is built for the tests already.
    cargo("bench smoke", &["test", "--workspace", "--bench", "throughput", "--", "--smoke"]),
];
