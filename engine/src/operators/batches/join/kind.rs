//! What each kind of join gives, as decisions.

use millstream_planner::physical::JoinKind;

/// What a join gives of pairs that match, and of rows that match or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gives {
    /// Pairs that match.
    pub(super) pairs: bool,
    /// Left rows without a match: with NULLs if `pairs`, else as they are.
    pub(super) left_alone: bool,
    /// Left rows with a match, once each.
    pub(super) left_matched: bool,
    /// Right rows without a match: with NULLs if `pairs`, else as they are.
    pub(super) right_alone: bool,
    /// Right rows with a match, once each.
    pub(super) right_matched: bool,
}

impl Gives {
    /// Of a kind, or of a kind of semi and anti joins that is read the other way round. What a NULL on the right
    /// does to [`JoinKind::NullAwareAnti`] is decided by [`super::hash`].
    pub(super) fn of(kind: JoinKind, mirrored: bool) -> Self {
        let none = Self {
            pairs: false,
            left_alone: false,
            left_matched: false,
            right_alone: false,
            right_matched: false,
        };
        match kind {
            JoinKind::Inner | JoinKind::Cross => Self { pairs: true, ..none },
            JoinKind::Left => Self { pairs: true, left_alone: true, ..none },
            JoinKind::Right => Self { pairs: true, right_alone: true, ..none },
            JoinKind::Full => Self { pairs: true, left_alone: true, right_alone: true, ..none },
            JoinKind::LeftSemi if mirrored => Self { right_matched: true, ..none },
            JoinKind::LeftAnti if mirrored => Self { right_alone: true, ..none },
            JoinKind::LeftSemi => Self { left_matched: true, ..none },
            JoinKind::LeftAnti | JoinKind::NullAwareAnti => Self { left_alone: true, ..none },
        }
    }

    /// Whether it is of interest which left rows match.
    pub(super) fn follows_left(self) -> bool {
        self.left_alone || self.left_matched
    }

    /// Whether it is of interest which right rows match: they are given at the end.
    pub(super) fn follows_right(self) -> bool {
        self.right_alone || self.right_matched
    }

    /// What is left to do once it is known elsewhere which left rows match.
    pub(super) fn without_left(self) -> Self {
        Self { left_alone: false, left_matched: false, ..self }
    }
}
