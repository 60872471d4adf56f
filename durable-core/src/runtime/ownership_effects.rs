//! Local activity attempts of owned runs.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::attempts::{self, Attempt, AttemptEnd, Task, Verdict, judge};
use super::message::Message;
use super::ownership::{Local, OwnedRun, Ownership, encoded};
use super::ownership_claim::tell;
use crate::engine::OpenActivity;
use crate::id::CommandId;

impl Ownership {
    /// Starts a durably scheduled activity here; it waits for a slot in its own task.
    pub(super) fn start_local(&self, run: &mut OwnedRun, open: OpenActivity) {
        let Some(seed) = run.seed else {
            return run.fail("an activity is open before its run is loaded".to_owned(), true);
        };
        if self.shared.registry.activity(&open.activity_type).is_none() {
            return run.make_row(&open, 0, 0, None, None);
        }
        let (task, cancel) = (Task::of(&open, seed), CancellationToken::new());
        let attempt = Attempt {
            workflow_id: run.identity.workflow_id.clone(),
            run_id: run.identity.run_id,
            command: open.id,
            activity_type: open.activity_type.clone(),
            task: task.clone(),
            number: 1,
            deadline: open.deadline(),
            cancel: cancel.clone(),
        };
        let (shared, owner) = (Arc::clone(&self.shared), self.myself.clone());
        let (instance, epoch, command) = (run.instance, run.epoch, open.id);
        run.running.insert(command, Local { cancel: cancel.clone(), task, open });
        self.shared.tasks.spawn(async move {
            let admitted = async {
                let slot = Arc::clone(&shared.slots).acquire_owned().await;
                (slot, shared.gate.enter(false).await)
            };
            let end = tokio::select! {
                biased;
                () = cancel.cancelled() => AttemptEnd::Aborted,
                () = shared.draining.cancelled() => AttemptEnd::Aborted,
                () = shared.stopped.cancelled() => AttemptEnd::Aborted,
                held = admitted => {
                    let end = attempts::make(&shared, attempt).await;
                    drop(held);
                    end
                }
            };
            tell(&owner, Message::Attempted { instance, epoch, command, end });
        });
    }
}

impl OwnedRun {
    /// A local attempt, always the first, has ended.
    pub(super) fn attempted(&mut self, command: CommandId, end: AttemptEnd) {
        // Cancelled meanwhile: nobody waits.
        let Some(local) = self.running.remove(&command) else { return };
        match judge(command, 1, &local.task, end) {
            Verdict::Ended(event) => self.inputs.push(event),
            Verdict::Retry { delay, failure } => match encoded(&failure) {
                Ok(failure) => self.make_row(&local.open, 1, 0, Some(delay), Some(failure)),
                Err(reason) => self.fail(format!("a failure cannot be encoded: {reason}"), true),
            },
            // Aborted by this worker's end: clean, so the next owner simply starts it again.
            Verdict::Nothing => self.ready.push(local.open),
        }
    }
}
