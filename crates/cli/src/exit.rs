//! How the program ends (docs/exit-codes.md).

/// The exit codes. Where several apply: 2, 4, 3, 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All held.
    Held = 0,
    /// A fault of ours.
    Fault = 1,
    /// Wrong use, or a wrong plan.
    Usage = 2,
    /// An SLO did not hold, or B is worse than A.
    Broken = 3,
    /// The run could not be completed, was interrupted, or got no answer at all.
    Incomplete = 4,
    /// A verdict hangs on the generator itself, or the result rests on a run that is not valid.
    Invalid = 5,
}

impl Exit {
    /// The one that counts, of two.
    pub(crate) fn and(self, other: Self) -> Self {
        let weight = |exit: Self| match exit {
            Self::Fault => 5,
            Self::Usage => 4,
            Self::Incomplete => 3,
            Self::Broken => 2,
            Self::Invalid => 1,
            Self::Held => 0,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
