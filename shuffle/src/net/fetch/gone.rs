//! Servers that somebody who knows has said are no more: a connection with one is not made again.
//!
//! Saying so of one that lives costs no more than the retries of connections that are lost.

use std::collections::HashSet;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Gone {
    peers: Mutex<HashSet<String>>,
    news: Notify,
}

impl Gone {
    pub(super) fn add(&self, peer: &str) {
        self.peers.lock().insert(peer.to_owned());
        self.news.notify_waiters();
    }

    pub(super) fn remove(&self, peer: &str) {
        self.peers.lock().remove(peer);
    }

    pub(super) fn has(&self, peer: &str) -> bool {
        self.peers.lock().contains(peer)
    }

    /// Waits for so long, or until `peer` is gone.
    pub(super) async fn pause(&self, peer: &str, time: Duration) {
        let wait = async {
            loop {
                let news = self.news.notified();
                if self.has(peer) {
                    return;
                }
                news.await;
            }
        };
        // Either end is one.
        let _ = tokio::time::timeout(time, wait).await;
    }
}
