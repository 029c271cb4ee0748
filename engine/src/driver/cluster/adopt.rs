//! Asking executors to take over the map outputs that an earlier run has left in their directories.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crossbeam::channel::unbounded;

use super::super::reports::Life;
use super::super::workers::Wanted;
use super::sessions::Sessions;
use crate::protocol::{OutputAt, ToExecutor};
use crate::scheduler::{ExecutorId, Search};

/// How often a run looks for executors that have yet to come. What only one has that does not come is
/// computed again. Looks are counted and not seconds: one that takes long to start for want of a processor
/// is looked for as long, by a driver that has to wait for one itself.
const LOOKS_MAX: u32 = 2_000;

/// How long an executor may take to open what it is asked for.
const OPEN_MAX: Duration = Duration::from_secs(30);

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How many outputs one message asks for.
const OUTPUTS_A_MESSAGE: usize = 1000;

/// The files of the outputs that are wanted.
type Files = HashMap<OutputAt, String>;

/// Has executors take over what is wanted; returns what is there now, and with whom. Of executors that
/// the driver has started itself there are `spawned`.
pub(super) fn adopt(
    sessions: &Sessions,
    wanted: Vec<Wanted>,
    spawned: Option<u64>,
) -> Vec<(OutputAt, Life)> {
    // As many as there were, as far as that is known.
    let before = wanted.iter().map(|wanted| wanted.executor.0).max().unwrap_or(0);
    await_sessions(sessions, spawned.map_or(before, |count| before.min(count)));
    let mut search = Search::new(wanted.iter().map(|wanted| (wanted.output, wanted.executor)));
    let file = |wanted: Wanted| (wanted.output, wanted.file.to_string_lossy().into_owned());
    let files: Files = wanted.into_iter().map(file).collect();
    let mut there = Vec::new();
    loop {
        let live: BTreeSet<ExecutorId> = sessions.0.lock().live.keys().copied().collect();
        let requests = search.next(&live);
        if requests.is_empty() {
            return there;
        }
        let answers = ask(sessions, requests, &files);
        there.extend(answers.into_iter().filter(|(output, _)| search.found(*output)));
    }
}

/// Asks some executors for some outputs, and waits for their answers.
fn ask(
    sessions: &Sessions,
    requests: impl IntoIterator<Item = (ExecutorId, Vec<OutputAt>)>,
    files: &Files,
) -> Vec<(OutputAt, Life)> {
    let (answer, answers) = unbounded();
    let mut asked = Vec::new();
    for (executor, outputs) in requests {
        let mut table = sessions.0.lock();
        for outputs in outputs.chunks(OUTPUTS_A_MESSAGE) {
            let Some(session) = table.live.get(&executor) else { break };
            let file = |output: &OutputAt| Some((*output, files.get(output)?.clone()));
            let (request, life) = (table.requests, session.life);
            let outputs = outputs.iter().filter_map(file).collect();
            session.say(ToExecutor::Adopt { request, outputs });
            table.adopting.insert(request, (life, answer.clone()));
            table.requests += 1;
            asked.push(request);
        }
    }
    drop(answer);
    let opened_by = Instant::now() + OPEN_MAX;
    let mut there = Vec::new();
    for _ in 0..asked.len() {
        let Ok((life, outputs)) = answers.recv_deadline(opened_by) else { break };
        there.extend(outputs.into_iter().map(|output| (output, life)));
    }
    let mut table = sessions.0.lock();
    asked.iter().for_each(|request| drop(table.adopting.remove(request)));
    there
}

/// Waits until so many executors have come, as long as there are looks left.
fn await_sessions(sessions: &Sessions, count: u64) {
    loop {
        {
            let mut table = sessions.0.lock();
            if table.live.len() as u64 >= count || table.looks >= LOOKS_MAX {
                return;
            }
            table.looks += 1;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
