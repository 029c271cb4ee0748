//! Deliberate faults, which the simulation must find. They can be switched on in tests only, and are
//! compiled to nothing elsewhere.

/// A fault to plant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    not(any(test, feature = "planted-bugs")),
    expect(unreachable_pub, reason = "exported with the feature only")
)]
pub enum PlantedBug {
    /// A finished attempt counts though it is no longer running by the scheduler's books.
    AcceptStaleAttempt,
    /// A lost executor's outputs stay registered.
    KeepOutputsOfLostExecutor,
    /// Every attempt that asks may commit.
    GrantTwice,
    /// A cancelled task's resources are never given back.
    LeakSlotOnCancel,
    /// A fetch failure unregisters the output, but nobody runs its map again.
    ForgetResubmit,
    /// The cancelled copy of a finished task counts as a failed attempt.
    CountSpeculationLoser,
    /// Tasks of a lost executor are not queued again.
    ForgetRequeueOnLoss,
    /// Requests are not subtracted from what an executor has left.
    OvercommitMemory,
    /// The grant of a dead attempt is never freed.
    KeepGrantOfDeadAttempt,
    /// A second run of a map task is not held against the first.
    TrustSecondRuns,
    /// The attempts of an earlier run are not counted: files of this one get their names.
    ForgetEarlierAttempts,
    /// An output of an earlier run is entered with whatever life its executor has now.
    TakeOverFromDeadLife,
    /// An executor goes on when its lease is over.
    OutliveLease,
    /// What a journal knows is taken over whatever it was made from.
    #[cfg(any(test, feature = "planted-bugs"))]
    IgnoreBasis,
    /// A store keeps the output that ends last, though a later attempt is there.
    #[cfg(any(test, feature = "planted-bugs"))]
    KeepWhatEndsLast,
}

#[cfg(any(test, feature = "planted-bugs"))]
impl PlantedBug {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::AcceptStaleAttempt,
        Self::KeepOutputsOfLostExecutor,
        Self::GrantTwice,
        Self::LeakSlotOnCancel,
        Self::ForgetResubmit,
        Self::CountSpeculationLoser,
        Self::ForgetRequeueOnLoss,
        Self::OvercommitMemory,
        Self::KeepGrantOfDeadAttempt,
        Self::TrustSecondRuns,
        Self::ForgetEarlierAttempts,
        Self::TakeOverFromDeadLife,
        Self::OutliveLease,
        Self::IgnoreBasis,
        Self::KeepWhatEndsLast,
    ];
}
