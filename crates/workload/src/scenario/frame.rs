//! What a user is within: loops, groups and calls.

use super::outcome::GroupEnd;

/// A loop, a group or a call that a user is in.
#[derive(Debug, Clone)]
pub(super) enum Frame {
    Loop { left: u32, round: u32 },
    Group { name: u16, first_due_ns: Option<u64>, response_ns: u64, is_good: bool },
    Call { back: u32 },
}

/// Rounds of a loop without an end.
pub(super) const ENDLESS: u32 = u32::MAX;

impl Frame {
    /// What is told of a group that has had a step.
    pub(super) fn ended(self, done_ns: u64) -> Option<GroupEnd> {
        let Self::Group { name, first_due_ns, response_ns, is_good } = self else { return None };
        Some(GroupEnd { name, first_due_ns: first_due_ns?, done_ns, response_ns, is_good })
    }
}
