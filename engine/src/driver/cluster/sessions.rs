//! The executors that are connected, and what the driver knows of each.

use std::collections::{HashMap, HashSet};

use crossbeam::channel::Sender;
use millstream_planner::ids::{NodeId, ShuffleId};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use super::super::reports::Life;
use crate::context::ExecutorStatus;
use crate::protocol::{
    Holder, OutputAt, PersistedAt, ProgramKey, Register, ServedBy, ToExecutor, Totals,
};
use crate::scheduler::{ExecutorId, Incarnation};

/// One life of an executor.
pub(super) struct Session {
    pub(super) life: Life,
    pub(super) host: String,
    pub(super) data_addr: String,
    slots: u32,
    memory_bytes: u64,
    /// What the driver says. Bounded by what the scheduler has running: it never launches more than
    /// there are slots.
    say: UnboundedSender<ToExecutor>,
    /// The programs that the executor has.
    pub(super) programs: HashSet<ProgramKey>,
    /// By shuffle, which version of the places of its outputs the executor knows.
    pub(super) inputs: HashMap<ShuffleId, u64>,
    /// Who serves its map outputs too.
    served_by: Option<ServedBy>,
}

impl Session {
    /// How others find its map outputs.
    pub(super) fn holder(&self) -> Holder {
        let (executor, served_by) = (self.life.executor, self.served_by.clone());
        Holder { executor, addr: Some(self.data_addr.clone()), served_by }
    }

    pub(super) fn status(&self) -> ExecutorStatus {
        let (executor, host) = (self.life.executor.0, self.host.clone());
        ExecutorStatus { executor, host, slots: self.slots, memory_bytes: self.memory_bytes }
    }

    /// Says something; lost if the conversation has ended, which its session tells the driver.
    pub(super) fn say(&self, message: ToExecutor) {
        let _ = self.say.send(message);
    }
}

/// How locality hints spell the executor: what it keeps is nearer to it than to others on its machine.
pub(super) fn host(register: &Register, life: Life) -> String {
    let machine = register.data_addr.rsplit_once(':').map_or("", |(host, _)| host);
    format!("{machine}/{}", life.executor.0)
}

/// All sessions of a driver. Its lock is taken last, and never held over a call to the driver.
#[derive(Default)]
pub(super) struct Sessions(pub(super) Mutex<Table>);

/// See [`Sessions`].
#[derive(Default)]
pub(super) struct Table {
    /// The application is over: who comes now is told so.
    pub(super) over: bool,
    /// What executors have is for a next run.
    pub(super) keep: bool,
    pub(super) live: HashMap<ExecutorId, Session>,
    /// The last life of each executor that ever was.
    lives: HashMap<ExecutorId, Incarnation>,
    named: u64,
    /// What each life of an executor has used.
    pub(super) totals: HashMap<(ExecutorId, Incarnation), Totals>,
    pub(super) memory_bytes: HashMap<ExecutorId, u64>,
    /// How often executors were asked to take something over.
    pub(super) requests: u64,
    /// How often executors were looked for that have yet to come.
    pub(super) looks: u32,
    /// Who waits for executors to take over what an earlier run has left, by the number of the request.
    pub(super) adopting: HashMap<u64, (Life, Sender<(Life, Vec<OutputAt>)>)>,
    /// Who serves the map outputs of executors that are no more.
    departed: HashMap<(ExecutorId, Incarnation), ServedBy>,
    /// Which executor keeps which partition of a persisted node.
    pub(super) persisted: HashMap<NodeId, HashMap<u32, ExecutorId>>,
}

impl Table {
    /// Takes an executor in; `Err` says why it is not.
    pub(super) fn admit(
        &mut self,
        register: &Register,
        say: UnboundedSender<ToExecutor>,
    ) -> Result<Life, String> {
        let executor = register.executor.unwrap_or_else(|| self.next_name());
        let incarnation = register.incarnation;
        if let Some(last) = self.lives.get(&executor)
            && *last >= incarnation
        {
            return Err(format!(
                "{executor} has had life {} already; the last was {}",
                incarnation.0, last.0
            ));
        }
        self.lives.insert(executor, incarnation);
        self.memory_bytes.insert(executor, register.memory_bytes);
        let life = Life { executor, incarnation };
        let (host, data_addr) = (host(register, life), register.data_addr.clone());
        let (programs, inputs) = (HashSet::new(), HashMap::new());
        let (slots, memory_bytes) = (register.slots, register.memory_bytes);
        let session = Session {
            life,
            host,
            data_addr,
            slots,
            memory_bytes,
            say,
            programs,
            inputs,
            served_by: None,
        };
        if let Some(before) = self.live.insert(executor, session) {
            self.depart(before);
        }
        self.forget_persisted(executor);
        Ok(life)
    }

    /// The session of this life, if it has not ended. What an earlier life of the executor has yet to say is not of it.
    pub(super) fn session(&self, life: Life) -> Option<&Session> {
        self.live.get(&life.executor).filter(|session| session.life == life)
    }

    /// Ends the session of this life, if it has not ended: the executor hears that its stream is over.
    pub(super) fn end(&mut self, life: Life) {
        if self.session(life).is_some() {
            let session = self.live.remove(&life.executor);
            session.into_iter().for_each(|session| self.depart(session));
            self.forget_persisted(life.executor);
        }
    }

    /// Notes who serves the map outputs of an executor too.
    pub(super) fn note_served(&mut self, life: Life, served_by: ServedBy) {
        let session = self.live.get_mut(&life.executor);
        if let Some(session) = session.filter(|session| session.life == life) {
            session.served_by = Some(served_by);
        }
    }

    /// Lets those know for whom the end of a session makes a difference, and notes who serves its map outputs.
    fn depart(&mut self, session: Session) {
        let Life { executor, incarnation } = session.life;
        // Who waits for its answers waits no more.
        self.adopting.retain(|_, (asked, _)| *asked != session.life);
        for other in self.live.values() {
            other.say(ToExecutor::Gone { data_addr: session.data_addr.clone() });
        }
        if let Some(served_by) = session.served_by {
            self.departed.insert((executor, incarnation), served_by);
        }
    }

    /// How others find the map outputs of one life of an executor; `None` if nobody has them.
    pub(super) fn holder(&self, life: Life) -> Option<Holder> {
        let Life { executor, incarnation } = life;
        if let Some(session) = self.session(life) {
            return Some(session.holder());
        }
        let served_by = Some(self.departed.get(&(executor, incarnation))?.clone());
        Some(Holder { executor, addr: None, served_by })
    }

    /// Who serves map outputs of executors that are no more.
    pub(super) fn departed(&self) -> impl Iterator<Item = &ServedBy> {
        self.departed.values()
    }

    /// All shuffle services that this application has to do with.
    pub(super) fn services(&self) -> HashSet<String> {
        let live = self.live.values().filter_map(|session| session.served_by.as_ref());
        live.chain(self.departed()).map(|served_by| served_by.service.clone()).collect()
    }

    /// Notes that an executor keeps a partition, or no longer. What one has kept that is no more went with it.
    pub(super) fn note_persisted(&mut self, life: Life, at: PersistedAt) {
        if self.session(life).is_none() {
            return;
        }
        let executor = life.executor;
        let partitions = self.persisted.entry(at.node).or_default();
        if at.kept {
            partitions.insert(at.partition, executor);
        } else if partitions.get(&at.partition) == Some(&executor) {
            partitions.remove(&at.partition);
        }
    }

    /// An executor has taken over what it was asked for, as far as it is there.
    pub(super) fn adopted(&mut self, request: u64, life: Life, outputs: Vec<OutputAt>) {
        match self.adopting.remove(&request) {
            // Who has waited long enough has gone.
            Some((_, waiting)) => drop(waiting.send((life, outputs))),
            // Nobody counts on it any more, and another may have it.
            None => {
                let session = self.session(life).into_iter();
                session.for_each(|session| {
                    outputs.iter().for_each(|output| session.say(ToExecutor::DropOutput(*output)));
                });
            }
        }
    }

    fn forget_persisted(&mut self, executor: ExecutorId) {
        for partitions in self.persisted.values_mut() {
            partitions.retain(|_, holder| *holder != executor);
        }
    }

    /// A name that no executor has had. Those that come with names of their own count from 1 too.
    fn next_name(&mut self) -> ExecutorId {
        loop {
            self.named += 1;
            let name = ExecutorId(self.named);
            if !self.lives.contains_key(&name) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::protocol::PROTOCOL_VERSION;

    fn admit(table: &mut Table, incarnation: u64) -> (Life, UnboundedReceiver<ToExecutor>) {
        let (say, said) = unbounded_channel();
        let register = Register {
            protocol: PROTOCOL_VERSION,
            executor: Some(ExecutorId(1)),
            incarnation: Incarnation(incarnation),
            slots: 1,
            memory_bytes: 1,
            data_addr: "127.0.0.1:1".to_owned(),
        };
        (table.admit(&register, say).unwrap(), said)
    }

    #[test]
    fn what_a_life_that_is_over_has_kept_is_not_booked_for_the_next() {
        let mut table = Table::default();
        let (first, _said) = admit(&mut table, 1);
        let kept = |partition| PersistedAt { node: NodeId(5), partition, kept: true };
        table.note_persisted(first, kept(0));
        let (second, _said) = admit(&mut table, 2);
        // It was under way when the executor began its next life.
        table.note_persisted(first, kept(1));
        table.note_persisted(second, kept(2));
        let known: Vec<u32> = table.persisted[&NodeId(5)].keys().copied().collect();
        assert_eq!(known, [2]);
        table.note_persisted(first, PersistedAt { kept: false, ..kept(2) });
        assert_eq!(table.persisted[&NodeId(5)].len(), 1);
    }
}
