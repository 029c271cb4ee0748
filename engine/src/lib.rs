//! Millstream's engine: what users see, and what runs it.

pub mod events;
pub mod scheduler;
