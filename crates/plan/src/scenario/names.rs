//! The names within the texts of a scenario, as the reader of texts asks for them.

use plimsoll_units::ParseError;
use plimsoll_workload::scenario::{Names, Value};

use crate::scenario::known::Known;

/// Resolves names by what is known at the present step.
pub(super) struct Resolver<'r, 'a>(pub(super) &'r mut Known<'a>);

impl Names for Resolver<'_, '_> {
    fn named(&mut self, name: &str, has_default: bool) -> Result<Value, ParseError> {
        self.0.value(name, has_default)
    }

    fn place(&mut self) -> u32 {
        self.0.place()
    }
}
