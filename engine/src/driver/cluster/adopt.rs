//! Asking executors to take over the map outputs that an earlier run has left in their directories.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossbeam::channel::unbounded;

use super::super::reports::Life;
use super::super::workers::Wanted;
use super::sessions::Sessions;
use crate::protocol::{OutputAt, ToExecutor};
use crate::scheduler::ExecutorId;

/// How often an executor is looked for that has yet to come. What only one has that does not come is
/// computed again. Looks are counted and not seconds: one that takes long to start for want of a processor
/// is looked for as long, by a driver that has to wait for one itself.
const LOOKS_MAX: u32 = 2_000;

/// How long an executor may take to open what it is asked for.
const OPEN_MAX: Duration = Duration::from_secs(30);

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How many outputs one message asks for.
const OUTPUTS_A_MESSAGE: usize = 1000;

/// Has executors take over what is wanted; returns what is there now, and with whom. Of executors that
/// the driver has started itself there are `spawned`.
pub(super) fn adopt(
    sessions: &Sessions,
    wanted: Vec<Wanted>,
    spawned: Option<u64>,
) -> Vec<(OutputAt, Life)> {
    let mut by_executor: HashMap<ExecutorId, Vec<(OutputAt, String)>> = HashMap::new();
    for Wanted { output, executor, file } in wanted {
        let file = file.to_string_lossy().into_owned();
        by_executor.entry(executor).or_default().push((output, file));
    }
    by_executor.retain(|executor, _| spawned.is_none_or(|count| (1..=count).contains(&executor.0)));
    let (answer, answers) = unbounded();
    let mut looks = LOOKS_MAX;
    let mut requests = Vec::new();
    for (executor, outputs) in by_executor {
        await_session(sessions, executor, &mut looks);
        let mut table = sessions.0.lock();
        for outputs in outputs.chunks(OUTPUTS_A_MESSAGE) {
            let Some(session) = table.live.get(&executor) else { break };
            let request = table.requests;
            session.say(ToExecutor::Adopt { request, outputs: outputs.to_vec() });
            let asked = session.life;
            table.adopting.insert(request, (asked, answer.clone()));
            table.requests += 1;
            requests.push(request);
        }
    }
    drop(answer);
    let opened_by = Instant::now() + OPEN_MAX;
    let mut there = Vec::new();
    for _ in 0..requests.len() {
        let Ok((life, outputs)) = answers.recv_deadline(opened_by) else { break };
        there.extend(outputs.into_iter().map(|output| (output, life)));
    }
    let mut table = sessions.0.lock();
    requests.iter().for_each(|request| drop(table.adopting.remove(request)));
    there
}

/// Waits for an executor to come, as long as there are looks left.
fn await_session(sessions: &Sessions, executor: ExecutorId, looks: &mut u32) {
    while *looks > 0 && !sessions.0.lock().live.contains_key(&executor) {
        std::thread::sleep(LOOK_AGAIN);
        *looks -= 1;
    }
}
