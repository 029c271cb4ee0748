//! Connections that no stream is using, by peer.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::net::channel::{Access, ChannelError, GrpcChannel, Purpose, grpc_channel};

/// Connections kept for one peer.
const IDLE_MAX: usize = 16;

pub(super) struct Pool {
    access: Access,
    idle: Mutex<HashMap<String, Vec<GrpcChannel>>>,
}

impl Pool {
    pub(super) fn new(access: Access) -> Self {
        Self { access, idle: Mutex::default() }
    }

    /// A connection for one stream.
    pub(super) async fn take(&self, peer: &str) -> Result<GrpcChannel, ChannelError> {
        let idle = self.idle.lock().get_mut(peer).and_then(Vec::pop);
        match idle {
            Some(channel) => Ok(channel),
            None => grpc_channel(peer, &self.access, Purpose::Data).await,
        }
    }

    /// Takes back a connection whose stream came to its end.
    pub(super) fn put(&self, peer: &str, channel: GrpcChannel) {
        let mut idle = self.idle.lock();
        let idle = idle.entry(peer.to_owned()).or_default();
        if idle.len() < IDLE_MAX {
            idle.push(channel);
        }
    }

    /// Forgets the connections with a peer, of which one was lost.
    pub(super) fn forget(&self, peer: &str) {
        let idle = self.idle.lock().remove(peer);
        drop(idle);
    }
}
