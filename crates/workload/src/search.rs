//! The words of searches for a capacity, which plans and the search itself share.

use plimsoll_units::Words;

/// What a fine-tuning step of the published method is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepOf {
    /// The gap between the last two rates of the ramp, as the text and its example have it.
    #[default]
    Gap,
    /// Half the last accepted rate, as the listing has it.
    Half,
}

impl Words for StepOf {
    const WORDS: &'static [(&'static str, Self)] = &[("gap", Self::Gap), ("half", Self::Half)];
}
