//! Orders the steps: one that compiles beside one that drives, two that drive once nothing is left to compile, and no other
//! step beside one that needs to be alone.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::{Lane, Step};

/// The lanes of each worker. It begins with the second when the first has no steps left.
const WORKERS: [&[Lane]; 2] = [&[Lane::Build, Lane::Drive], &[Lane::Drive]];

/// The state of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Ended,
}

/// Runs every step once and returns the results in the order of `steps`. A step starts when the steps that it names in
/// `after` have ended; those that were not chosen count as ended. Steps of [`Lane::Alone`] come when the workers have ended.
pub(super) fn run<T: Send>(steps: &[&'static Step], one: impl Fn(&Step) -> T + Sync) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = steps.iter().map(|_| Mutex::new(None)).collect();
    let states = Mutex::new(vec![State::Waiting; steps.len()]);
    let changed = Condvar::new();
    let work = |lane: Lane| {
        let mut held = states.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut all = steps.iter().zip(held.iter());
            if !all.any(|(step, state)| step.lane == lane && *state == State::Waiting) {
                return;
            }
            if let Some(next) = next(steps, &held, lane) {
                held[next] = State::Running;
                drop(held);
                let result = one(steps[next]);
                *results[next].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                held = states.lock().unwrap_or_else(PoisonError::into_inner);
                held[next] = State::Ended;
                changed.notify_all();
            } else {
                held = changed.wait(held).unwrap_or_else(PoisonError::into_inner);
            }
        }
    };
    thread::scope(|scope| {
        for lanes in WORKERS {
            scope.spawn(move || lanes.iter().copied().for_each(work));
        }
    });
    work(Lane::Alone);
    results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// The first waiting step of a lane whose predecessors have ended.
fn next(steps: &[&Step], states: &[State], lane: Lane) -> Option<usize> {
    let has_ended = |name: &str| {
        steps
            .iter()
            .zip(states)
            .all(|(step, state)| step.name != name || *state == State::Ended)
    };
    steps.iter().zip(states).position(|(step, state)| {
        step.lane == lane
            && *state == State::Waiting
            && step.after.iter().all(|name| has_ended(name))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Does, Read, When};
    use super::*;

    const fn step(name: &'static str, lane: Lane, after: &'static [&'static str]) -> Step {
        Step {
            name,
            when: When::Always,
            lane,
            after,
            read: Read::Exit,
            minutes: 1,
            does: Does::Call(|_| Ok(())),
        }
    }

    static APP: Step = step("app", Lane::Build, &[]);
    static LINT: Step = step("lint", Lane::Build, &[]);
    static JOURNEYS: Step = step("journeys", Lane::Drive, &["app", "not chosen"]);
    static SERVERS: Step = step("servers", Lane::Drive, &[]);
    static TESTS: Step = step("tests", Lane::Alone, &[]);

    static MORE: Step = step("more", Lane::Drive, &["app"]);

    /// The names of the steps as they began (`+`) and ended (`-`).
    fn traced(steps: &[&'static Step]) -> (Vec<&'static str>, Vec<String>) {
        let trace = Mutex::new(Vec::new());
        let note = |text: String| trace.lock().unwrap().push(text);
        let results = run(steps, |step| {
            note(format!("+{}", step.name));
            thread::sleep(Duration::from_millis(20));
            note(format!("-{}", step.name));
            step.name
        });
        (results, trace.into_inner().unwrap())
    }

    #[test]
    fn steps_run_once_in_their_order_and_after_what_they_need() {
        let (results, trace) = traced(&[&TESTS, &JOURNEYS, &APP, &LINT, &SERVERS]);
        assert_eq!(results, ["tests", "journeys", "app", "lint", "servers"]);
        let place = |text: &str| trace.iter().position(|line| line == text).unwrap();
        assert!(place("+journeys") > place("-app"), "{trace:?}");
        assert!(
            place("+lint") > place("-app"),
            "one of a lane at a time: {trace:?}"
        );
        assert!(
            place("+servers") < place("-app"),
            "lanes run side by side: {trace:?}"
        );
        assert_eq!(place("+tests"), 8, "alone and last: {trace:?}");
    }

    #[test]
    fn two_drive_when_nothing_is_left_to_compile() {
        let (_, trace) = traced(&[&APP, &JOURNEYS, &MORE]);
        let place = |text: &str| trace.iter().position(|line| line == text).unwrap();
        assert!(
            place("+journeys").max(place("+more")) < place("-journeys").min(place("-more")),
            "{trace:?}"
        );
        assert!(place("+journeys").min(place("+more")) > place("-app"));
    }

    #[test]
    fn a_step_whose_predecessor_was_not_chosen_runs() {
        assert_eq!(traced(&[&JOURNEYS]).0, ["journeys"]);
    }
}
