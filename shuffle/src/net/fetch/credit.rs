//! How much may be on its way: bytes received and not yet taken, in total, of a peer and of a stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The account of a fetcher.
pub(super) struct Ledger {
    limit: u64,
    limit_per_peer: u64,
    held: AtomicU64,
    /// Kept small: one entry for each peer ever spoken to.
    peers: Mutex<HashMap<String, Arc<AtomicU64>>>,
    freed: Notify,
}

impl Ledger {
    pub(super) fn new(limit: u64, limit_per_peer: u64) -> Self {
        let (held, peers, freed) = (AtomicU64::new(0), Mutex::default(), Notify::new());
        Self { limit, limit_per_peer, held, peers, freed }
    }

    pub(super) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// The account of a new stream.
    pub(super) fn account(self: &Arc<Self>, peer: &str, limit: u64) -> Arc<Account> {
        let of_peer = Arc::clone(self.peers.lock().entry(peer.to_owned()).or_default());
        let (ledger, held) = (Arc::clone(self), AtomicU64::new(0));
        Arc::new(Account { ledger, of_peer, limit, held })
    }
}

/// The account of a stream.
pub(super) struct Account {
    ledger: Arc<Ledger>,
    of_peer: Arc<AtomicU64>,
    limit: u64,
    held: AtomicU64,
}

impl Account {
    /// Waits until there is room for a message. A stream that holds nothing always has room.
    pub(super) async fn ready(&self) {
        loop {
            let mut freed = std::pin::pin!(self.ledger.freed.notified());
            freed.as_mut().enable();
            if self.has_room() {
                return;
            }
            freed.await;
        }
    }

    fn has_room(&self) -> bool {
        let held = self.held.load(Ordering::Acquire);
        held == 0
            || held < self.limit
                && self.of_peer.load(Ordering::Acquire) < self.ledger.limit_per_peer
                && self.ledger.held.load(Ordering::Acquire) < self.ledger.limit
    }

    /// Enters bytes that were received.
    pub(super) fn hold(self: &Arc<Self>, bytes: u64) -> Credit {
        for held in [&self.held, &self.of_peer, &self.ledger.held] {
            held.fetch_add(bytes, Ordering::AcqRel);
        }
        Credit { account: Arc::clone(self), bytes }
    }
}

/// Bytes that are held until this is dropped.
pub(super) struct Credit {
    account: Arc<Account>,
    bytes: u64,
}

impl Drop for Credit {
    fn drop(&mut self) {
        let account = &self.account;
        for held in [&account.held, &account.of_peer, &account.ledger.held] {
            held.fetch_sub(self.bytes, Ordering::AcqRel);
        }
        account.ledger.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn is_ready(account: &Account) -> bool {
        account.ready().now_or_never().is_some()
    }

    #[test]
    fn each_bound_holds_and_a_stream_with_nothing_always_has_room() {
        let ledger = Arc::new(Ledger::new(100, 60));
        let (a, b, c) = (ledger.account("p", 50), ledger.account("p", 50), ledger.account("q", 50));
        let first = a.hold(50);
        assert!(!is_ready(&a), "the bound of the stream");
        let _second = b.hold(10);
        assert!(!is_ready(&b), "the bound of the peer");
        assert!(is_ready(&c));
        let _third = c.hold(40);
        assert!(!is_ready(&c), "the bound of all");
        assert!(is_ready(&ledger.account("p", 50)), "what holds nothing has room");
        drop(first);
        assert!(is_ready(&a) && is_ready(&b) && is_ready(&c));
        assert_eq!(ledger.held(), 50);
    }

    #[test]
    fn who_waits_is_woken() {
        let ledger = Arc::new(Ledger::new(10, 10));
        let account = ledger.account("p", 10);
        let credit = account.hold(10);
        let mut waiting = std::pin::pin!(account.ready());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        drop(credit);
        assert!(waiting.as_mut().poll(&mut cx).is_ready());
    }
}
