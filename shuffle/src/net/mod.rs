//! How executors reach each other: the authenticated channel that both planes run on, the server that
//! hands out encoded blocks, and the client that fetches them. What the control plane says over a
//! channel, and which blocks are wanted of whom, is not known here.

pub mod channel;
pub mod fetch;
pub mod serve;

mod ask;
mod want;
mod wire;

pub use ask::{AskError, Request, ask};
pub use want::{Frame, FrameHead, Refusal, Want};

#[cfg(test)]
mod tests;
