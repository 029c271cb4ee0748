use indicatif::{InMemoryTerm, TermLike};
use millstream_planner::ids::{JobId, StageId};

use super::super::{FailureKind, TaskId, TaskMetrics};
use super::*;

fn job(id: u64) -> Event {
    Event::JobSubmitted { job: JobId(id), name: "count".into(), stages: vec![] }
}

fn job_ends(id: u64) -> Event {
    Event::JobFinished { job: JobId(id), wall_ms: 1 }
}

fn stage(id: u64, attempt: u32, partitions: u32, skipped: u32) -> Event {
    Event::StageStarted {
        stage: StageId(id),
        stage_attempt: attempt,
        name: format!("stage-{id}"),
        partitions,
        skipped_partitions: skipped,
    }
}

fn task(stage: u64, stage_attempt: u32) -> TaskId {
    TaskId { job: JobId(1), stage: StageId(stage), stage_attempt, partition: 0, attempt: 0 }
}

fn starts(task: TaskId) -> Event {
    Event::TaskStarted { task, executor: 0 }
}

fn finishes(task: TaskId) -> Event {
    let metrics = TaskMetrics { rows_in: 100, spilled_bytes: 1024, ..TaskMetrics::default() };
    Event::TaskFinished { task, executor: 0, metrics }
}

fn fails(task: TaskId) -> Event {
    Event::TaskFailed { task, executor: 0, kind: FailureKind::User, message: "no".into() }
}

fn progress_on(term: &InMemoryTerm) -> Progress {
    // No limit on redrawing, so that what is drawn is there to see.
    let target = ProgressDrawTarget::term_like_with_hz(Box::new(term.clone()), 255);
    Progress::on(target).unwrap()
}

fn emit(progress: &Progress, events: impl IntoIterator<Item = Event>) {
    for event in events {
        progress.on_event(&Record { time_ms: 0, event });
    }
}

/// The instant at which all work so far counts as long.
fn later() -> Instant {
    Instant::now() + SHOW_AFTER
}

#[test]
fn counts_tasks_of_the_current_run_of_each_stage() {
    let term = InMemoryTerm::new(10, 120);
    let progress = progress_on(&term);
    let (first, second) = (task(2, 0), task(2, 1));
    emit(&progress, [job(1), stage(2, 0, 9, 0), starts(first), starts(first), finishes(first)]);
    emit(&progress, [stage(2, 1, 9, 4), starts(second), starts(second), starts(second)]);
    emit(&progress, [finishes(first), fails(first), finishes(second), fails(second)]);
    let samples = progress.screen.board.sample(later(), SHOW_AFTER);
    let [sample] = samples.as_slice() else { panic!("{samples:?}") };
    assert_eq!((sample.done, sample.running, sample.partitions), (5, 1, 9));
    assert_eq!((sample.rows, sample.spilled_bytes), (100, 1024));
}

#[test]
fn shows_nothing_before_work_is_long_and_a_bar_a_stage_after() {
    let term = InMemoryTerm::new(10, 120);
    let progress = progress_on(&term);
    emit(&progress, [job(1), stage(3, 0, 4, 1), stage(2, 0, 8, 0), starts(task(2, 0))]);
    progress.screen.refresh(Instant::now());
    assert_eq!(term.contents(), "");

    progress.screen.refresh(later());
    let shown = term.contents();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].starts_with("stage-2 ") && lines[0].contains("] 0/8 1 running"), "{shown}");
    assert!(lines[1].starts_with("stage-3 ") && lines[1].contains("] 1/4 0 running"), "{shown}");
}

#[test]
fn a_finished_stage_loses_its_bar_and_the_last_job_clears_the_terminal_at_once() {
    let term = InMemoryTerm::new(10, 120);
    term.write_line("what the program printed").unwrap();
    let progress = progress_on(&term);
    emit(&progress, [job(1), job(2), stage(2, 0, 8, 0), stage(3, 0, 8, 0)]);
    progress.screen.refresh(later());
    assert!(term.contents().contains("stage-2"));

    emit(&progress, [Event::StageAborted { stage: StageId(2), stage_attempt: 0 }, job_ends(1)]);
    progress.screen.refresh(later());
    assert!(!term.contents().contains("stage-2"), "{}", term.contents());
    assert!(term.contents().contains("stage-3"), "{}", term.contents());

    emit(&progress, [job_ends(2)]);
    assert_eq!(term.contents(), "what the program printed");
    // A ticker that comes late draws nothing.
    progress.screen.refresh(later());
    assert_eq!(term.contents(), "what the program printed");
}

#[test]
fn the_ticker_draws_by_itself_and_close_ends_it_with_a_clean_terminal() {
    let term = InMemoryTerm::new(10, 120);
    let progress = progress_on(&term);
    emit(&progress, [job(1), stage(2, 0, 8, 0)]);
    let give_up = Instant::now() + Duration::from_secs(30);
    while !term.contents().contains("stage-2") {
        assert!(Instant::now() < give_up, "not drawn");
        thread::yield_now();
    }
    progress.close();
    assert!(progress.ticker.lock().is_none(), "joined");
    assert_eq!(term.contents(), "");
    progress.close();
}

#[test]
fn a_name_longer_than_the_terminal_does_not_wrap() {
    let term = InMemoryTerm::new(10, 80);
    let progress = progress_on(&term);
    let name = "a very long name of a stage ".repeat(10);
    let start = Event::StageStarted {
        stage: StageId(2),
        stage_attempt: 0,
        name,
        partitions: 8,
        skipped_partitions: 0,
    };
    emit(&progress, [job(1), start]);
    progress.screen.refresh(later());
    assert_eq!(term.contents().lines().count(), 1, "{}", term.contents());
    drop(progress);
}

#[test]
fn nothing_is_started_when_off() {
    assert!(Progress::start(ProgressMode::Off).is_none());
}
