//! What a worker can run, by registered name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::activity::ActivityEntry;
use crate::workflow::WorkflowEntry;

/// Two things were registered under one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} `{name}` is registered twice with this worker; give one of them another name with `name = \"…\"`"
)]
pub struct DuplicateName {
    /// `workflow` or `activity`.
    pub what: &'static str,
    /// The name.
    pub name: String,
}

/// Workflows and activities by name.
#[derive(Default)]
pub(crate) struct Registry {
    workflows: HashMap<&'static str, Arc<dyn WorkflowEntry>>,
    activities: HashMap<&'static str, ActivityEntry>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("workflows", &self.workflows.keys())
            .field("activities", &self.activities.keys())
            .finish()
    }
}

impl Registry {
    pub(crate) fn add_workflow(&mut self, entry: Arc<dyn WorkflowEntry>) -> Result<(), DuplicateName> {
        let name = entry.name();
        match self.workflows.insert(name, entry) {
            None => Ok(()),
            Some(_) => Err(DuplicateName { what: "workflow", name: name.to_owned() }),
        }
    }

    pub(crate) fn add_activity(&mut self, entry: ActivityEntry) -> Result<(), DuplicateName> {
        let name = entry.name;
        match self.activities.insert(name, entry) {
            None => Ok(()),
            Some(_) => Err(DuplicateName { what: "activity", name: name.to_owned() }),
        }
    }

    pub(crate) fn workflow(&self, name: &str) -> Option<&Arc<dyn WorkflowEntry>> {
        self.workflows.get(name)
    }

    pub(crate) fn activity(&self, name: &str) -> Option<&ActivityEntry> {
        self.activities.get(name)
    }

    pub(crate) fn activity_types(&self) -> Vec<String> {
        let mut types: Vec<String> = self.activities.keys().map(|name| (*name).to_owned()).collect();
        types.sort_unstable();
        types
    }
}
