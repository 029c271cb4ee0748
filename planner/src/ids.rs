//! Identities. Each is a number drawn from one counter of the application, so that no two things of
//! one application share an identity and a log line can be searched for.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $label:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
        )]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($label, " {}"), self.0)
            }
        }
    };
}

id!(
    /// One action of the user's program: a `collect`, a `count`, a save.
    JobId,
    "job"
);
id!(
    /// A set of tasks that run the same program on different partitions, with no exchange inside.
    StageId,
    "stage"
);
id!(
    /// One exchange of data: the output of one stage, read by others.
    ShuffleId,
    "shuffle"
);
id!(
    /// One operation in the lineage of a program.
    NodeId,
    "node"
);

impl ShuffleId {
    /// The stage that writes this shuffle. A shuffle has one writing stage for as long as the
    /// application lives, so that jobs which share it share its stage too.
    #[must_use]
    pub fn stage(self) -> StageId {
        StageId(self.0)
    }
}
