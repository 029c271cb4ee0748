//! The executor role: this process runs tasks of a driver in another one.
//!
//! ```text
//!   control thread ── heartbeats, lease ──┐
//!        │ messages                       ├──> driver
//!        v                                │
//!   Inbox ── programs, inputs ──> slots ──┴ reports
//!                                  │  ^
//!                blocks of others ─┘  └─ block server (threads of its own) <── other executors
//! ```
//!
//! The control thread does nothing that can take long: it neither touches a disk nor runs a task, so
//! that an executor which is merely busy is never taken for dead.

mod client;
mod inbox;
mod inputs;
mod join;
mod outbox;
mod peers;
mod role;
mod served;

pub(crate) use client::run;
pub(crate) use inputs::Inputs;
pub(crate) use peers::Peers;
pub(crate) use role::Role;
#[cfg(feature = "tool")]
pub(crate) use role::tls_of_environment;
