//! What users see, and what runs it.

pub mod events;
