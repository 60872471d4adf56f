//! The suite that every provider must pass: one async fn per case, one file per area of the contract.
//!
//! A backend's test file calls [`conformance!`](crate::conformance!) with a function that opens a
//! [`Harness`] on an empty database; each case becomes one named test. Time is passed in, so nothing sleeps; only
//! the cases of [`clock`] ask the database's own, and compare nothing with any other.

#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a case that fails panics: it is a test")]

pub mod activities;
pub mod atomic;
pub mod claim;
pub mod clock;
pub mod commit;
pub mod continued;
mod harness;
pub mod inbox;
pub mod lease;
pub mod release;
pub mod sameness;
pub mod start;

pub use self::harness::{Harness, LEASE, at, rows};

/// Makes one `#[tokio::test]` per case of the suite. Takes the name of an `async fn() -> Harness`.
#[macro_export]
macro_rules! conformance {
    ($open:ident) => {
        $crate::conformance_area!(
            $open,
            claim,
            [
                claimers_that_race_claim_each_run_once,
                runs_are_claimed_by_priority_then_eligible_time_then_id,
                a_claim_takes_its_own_queue_up_to_its_limit,
                a_claim_brings_the_run_with_its_messages_and_rows,
                a_claim_brings_the_whole_history_or_none,
                claims_without_progress_dead_letter_at_the_maximum,
                claims_of_killed_workers_count_and_their_neighbours_go_on,
                a_reported_block_burns_no_claim,
                progress_forgives_earlier_claims,
                a_suspect_is_claimed_alone_and_in_order,
            ]
        );
        $crate::conformance_area!(
            $open,
            lease,
            [
                an_expired_lease_is_reaped_and_the_run_claimed_again,
                a_renewal_extends_never_shortens_and_never_revives,
                a_registration_frees_what_a_dead_predecessor_holds,
                a_living_predecessor_keeps_its_slot_and_its_claims,
                unnamed_workers_take_the_first_free_slot,
                a_worker_that_leaves_keeps_its_claims_under_lease,
                another_build_makes_blocked_runs_due,
                due_runs_are_runnable_since_their_due_time,
                poll_tells_what_there_is_to_do,
            ]
        );
        $crate::conformance_area!(
            $open,
            commit,
            [
                a_commit_whose_guard_does_not_hold_changes_nothing,
                the_same_flush_again_has_succeeded_before,
                a_repeated_flush_without_events_writes_nothing_twice,
                a_stale_member_hurts_no_other,
                history_rows_must_follow_each_other,
                a_second_row_of_one_command_fails_the_batch_whole,
                ten_thousand_rows_commit_whole,
                any_bytes_come_back_as_they_were,
                history_is_read_in_pages,
                a_kept_run_has_its_lease_renewed_never_shortened,
                a_released_run_waits_or_runs_as_it_asked,
                a_closed_run_gives_its_id_back_and_refuses_writes,
            ]
        );
        $crate::conformance_area!(
            $open,
            continued,
            [
                a_run_that_continues_ends_and_the_next_begins_in_one_commit,
                messages_and_their_dedup_keys_outlive_a_run_that_continues,
                what_a_run_had_asked_for_is_gone_when_it_continues,
                a_repeated_or_stale_continuation_begins_no_second_run,
                a_continuation_that_makes_no_sense_is_refused,
                continuations_and_ends_in_one_batch_hurt_no_other,
            ]
        );
        $crate::conformance_area!(
            $open,
            atomic,
            [
                a_bad_rider_at_any_place_leaves_everything_as_it_was,
                no_rider_lands_without_its_guard,
                ten_thousand_rows_leave_nothing_or_go_whole,
                a_lost_answer_is_resolved_by_the_flush_both_ways,
                a_retry_after_a_successor_committed_changes_nothing,
                a_flush_held_up_past_its_lease_is_refused,
                overlapping_ranges_that_race_land_once,
            ]
        );
        $crate::conformance_area!(
            $open,
            clock,
            [
                every_answer_tells_the_databases_time,
                a_lease_ends_by_the_databases_clock,
                delays_and_timers_are_due_by_the_databases_clock,
            ]
        );
        $crate::conformance_area!(
            $open,
            release,
            [
                a_reclaimed_run_brings_the_same_messages_in_order,
                one_renewal_keeps_all_that_was_claimed_ahead,
                heartbeats_and_reapers_that_race_agree_on_every_lease,
                a_release_touches_only_the_run_that_is_held,
                a_delayed_release_touches_only_the_row_that_is_held,
            ]
        );
        $crate::conformance_area!(
            $open,
            sameness,
            [
                names_that_no_backend_takes_are_refused_alike,
                payloads_around_the_limit_come_back_whole,
                durations_mean_the_same_everywhere,
                work_that_is_not_due_hides_nothing,
            ]
        );
        $crate::conformance_area!(
            $open,
            inbox,
            [
                a_release_with_an_unread_message_is_runnable,
                a_message_wakes_a_waiting_run_but_no_blocked_one,
                a_cancel_request_is_one_message_however_often_it_is_sent,
                a_cancel_request_is_told_the_truth,
                consumed_messages_are_gone_and_later_ones_stay_in_order,
                a_message_that_races_a_release_is_never_lost,
            ]
        );
        $crate::conformance_area!(
            $open,
            activities,
            [
                an_outcome_ends_the_row_and_is_a_message_once,
                a_retry_waits_for_its_delay,
                a_lost_attempt_is_counted_and_owes_its_backoff,
                a_row_past_its_deadline_is_anyones,
                claimers_that_race_claim_each_row_once_in_order,
                a_suspect_row_is_claimed_alone_and_in_order,
                an_outcome_of_a_removed_row_changes_nothing,
                an_outcome_under_an_expired_lease_changes_nothing,
                scheduled_and_cancelled_in_one_commit_queues_nothing,
            ]
        );
        $crate::conformance_area!(
            $open,
            start,
            [
                starts_that_race_make_one_instance,
                another_type_is_refused_with_both_names,
                other_arguments_are_refused,
                each_policy_decides_as_documented,
                a_repeated_request_finds_what_it_started,
                a_refused_start_hurts_no_other,
                a_run_id_that_is_taken_fails_the_batch_whole,
                any_legal_name_is_accepted,
                a_type_that_is_no_name_is_refused_alone,
                open_instances_are_listed_in_order_page_by_page,
            ]
        );
    };
}

/// The tests of one area; used by [`conformance!`](crate::conformance!).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_area {
    ($open:ident, $area:ident, [$($case:ident),* $(,)?]) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::conformance::$area::$case(&$open().await).await;
            }
        )*
    };
}
