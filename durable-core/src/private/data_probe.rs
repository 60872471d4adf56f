//! Refuses types that serde would copy silently but that are shared or mutable state: locks, cells,
//! atomics, `Rc` (design D10, layer T).
//!
//! [`DataProbe::plain`] is an inherent method for those types and a trait method for all others. Inherent
//! methods win, so the call's result tells which it was, through aliases too. A lock *inside* a user's
//! type is not seen.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::rc;
use std::sync::{self, Arc, Mutex, OnceLock, RwLock, atomic};

/// Asks whether `T` is plain data.
pub struct DataProbe<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized> fmt::Debug for DataProbe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataProbe")
    }
}

impl<T: ?Sized> DataProbe<T> {
    /// A probe for `T`.
    #[allow(clippy::new_without_default, reason = "only generated code makes one")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// Compiles for a plain `T` only.
    pub fn require<Answer: PlainData<T>>(_: Answer) {}
}

/// The answer "nothing is known against it".
#[derive(Debug)]
pub struct Plain;

/// The answer "it is shared or mutable state".
#[derive(Debug)]
pub struct Shared;

/// Holds for the answer [`Plain`].
#[diagnostic::on_unimplemented(
    message = "`{T}` is shared or mutable state and cannot be recorded in a workflow's history",
    label = "only a copy of its content would be recorded",
    note = "pass plain data; give locks, pools and services to activities as worker state: `worker().state(..)` and `ctx.state::<T>()`"
)]
pub trait PlainData<T: ?Sized> {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> PlainData<T> for Plain {}

/// The answer for every type without a method of its own.
pub trait OtherData {
    /// Nothing is known against it.
    fn plain(&self) -> Plain {
        Plain
    }
}

impl<T: ?Sized> OtherData for DataProbe<T> {}

macro_rules! shared {
    (of T [$($of:ty),* $(,)?] plain [$($ty:ty),* $(,)?]) => {
        $(impl<T> DataProbe<$of> {
            /// It is shared or mutable state.
            pub fn plain(&self) -> Shared {
                Shared
            }
        })*
        $(impl DataProbe<$ty> {
            /// It is shared or mutable state.
            pub fn plain(&self) -> Shared {
                Shared
            }
        })*
    };
}

shared! {
    of T [
    Mutex<T>, RwLock<T>, Cell<T>, RefCell<T>, OnceCell<T>, OnceLock<T>, rc::Rc<T>, rc::Weak<T>, sync::Weak<T>,
    Arc<Mutex<T>>, Arc<RwLock<T>>,
    ]
    plain [
    atomic::AtomicBool, atomic::AtomicI8, atomic::AtomicI16, atomic::AtomicI32, atomic::AtomicI64,
    atomic::AtomicIsize, atomic::AtomicU8, atomic::AtomicU16, atomic::AtomicU32, atomic::AtomicU64,
    atomic::AtomicUsize,
    Arc<atomic::AtomicBool>, Arc<atomic::AtomicI8>, Arc<atomic::AtomicI16>, Arc<atomic::AtomicI32>,
    Arc<atomic::AtomicI64>, Arc<atomic::AtomicIsize>, Arc<atomic::AtomicU8>, Arc<atomic::AtomicU16>,
    Arc<atomic::AtomicU32>, Arc<atomic::AtomicU64>, Arc<atomic::AtomicUsize>,
    ]
}
