//! The slowest requests of a run that servers were asked to record.

use super::Run;
use crate::error::RunError;
use crate::slowest::{self, SlowTrace};
use crate::summary::SlowTraceFigures;

impl Run {
    /// The slowest requests that servers were asked to record, the slowest first.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn slowest_traces(&self) -> Result<Vec<SlowTrace>, RunError> {
        slowest::read(&self.opened.database).map_err(self.unreadable())
    }

    /// The same as a summary tells them.
    pub(crate) fn slowest_told(&self) -> Result<Vec<SlowTraceFigures>, RunError> {
        let names = self.load().map(|load| &load.names)?;
        Ok(self.slowest_traces()?.iter().map(|of| SlowTraceFigures::of(of, names)).collect())
    }
}
