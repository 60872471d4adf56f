//! What an attribute and its fn mean, after every rule was checked. Code generation from it cannot fail.

use proc_macro2::{Ident, TokenStream};
use syn::{Attribute, Block, Signature, Type, Visibility};

/// Which attribute it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Workflow,
    Activity,
}

impl Kind {
    /// The attribute as the user wrote it.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Workflow => "#[workflow]",
            Self::Activity => "#[activity]",
        }
    }

    /// The noun for texts.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Activity => "activity",
        }
    }

    /// With its article.
    pub(crate) fn a_noun(self) -> &'static str {
        match self {
            Self::Workflow => "a workflow",
            Self::Activity => "an activity",
        }
    }

    /// The context type that the fn's first parameter must have.
    pub(crate) fn context(self) -> &'static str {
        match self {
            Self::Workflow => "WorkflowContext",
            Self::Activity => "ActivityContext",
        }
    }
}

/// A workflow or activity fn that passed every rule.
pub(crate) struct Function {
    pub(crate) kind: Kind,
    pub(crate) attrs: Attrs,
    pub(crate) vis: Visibility,
    /// The fn's signature as written.
    pub(crate) sig: Signature,
    /// The name of the context parameter, or a made-up one where the user wrote `_`.
    pub(crate) ctx: Ident,
    /// The parameters after the context.
    pub(crate) params: Vec<Param>,
    /// The declared return type.
    pub(crate) output: Type,
    pub(crate) block: Block,
    pub(crate) options: Options,
}

/// One parameter after the context.
pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// The key under which the argument is recorded: the name without `r#` and leading underscores.
    pub(crate) key: String,
}

/// The user's attributes, by where they go.
#[derive(Default)]
pub(crate) struct Attrs {
    /// Documentation: moves to the marker type.
    pub(crate) docs: Vec<Attribute>,
    /// `deprecated`: on the call, as every other use is the generated code's own.
    pub(crate) call: Vec<Attribute>,
    /// `cfg` and `allow`: on every generated item.
    pub(crate) shared: Vec<Attribute>,
    /// Everything else: on the fn that holds the user's body.
    pub(crate) body: Vec<Attribute>,
}

/// The options of the attribute. Durations are in microseconds; `None` leaves the default to `durable`.
#[derive(Default)]
pub(crate) struct Options {
    /// The registered name, if it is not the fn's.
    pub(crate) name: Option<String>,
    pub(crate) start_to_close_us: Option<u64>,
    pub(crate) schedule_to_close_us: Option<u64>,
    pub(crate) retry: Retry,
}

/// The options inside `retry(..)`.
#[derive(Default)]
pub(crate) struct Retry {
    pub(crate) initial_us: Option<u64>,
    pub(crate) max_us: Option<u64>,
    pub(crate) coefficient: Option<f64>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) jitter: Option<f64>,
}

/// A `#[durable::helper]` fn that passed every rule.
pub(crate) struct Helper {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The declared return type, `()` if none.
    pub(crate) output: TokenStream,
    pub(crate) block: Block,
}
