//! The provider on real files: the common suite, damage, and several processes.

mod conformance;
mod damage;
mod fixture;
mod processes;
