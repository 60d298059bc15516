//! Where the engine's observations go. The engine writes no files: it is handed a [`Sink`].

use crate::error::SinkError;
use crate::event::Event;
use crate::interval::{Interval, Sample};

/// Takes what a run observes, in order of time. An error ends the run: what was measured is kept.
pub trait Sink: Send {
    /// One second of the run, complete.
    ///
    /// # Errors
    /// When it could not be stored.
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError>;

    /// Requests that ended, in no particular order. Only called where samples were asked for.
    ///
    /// # Errors
    /// When they could not be stored.
    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError>;

    /// The measured phase begins at this offset, which was not known before. All that is due from
    /// then on is of it.
    ///
    /// # Errors
    /// When that could not be stored.
    fn measured_from(&mut self, at_ns: u64) -> Result<(), SinkError> {
        let _ = at_ns;
        Ok(())
    }

    /// A sample of a series; NaN where it is not known.
    ///
    /// # Errors
    /// When it could not be stored.
    fn series(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        at_ns: u64,
        value: f64,
    ) -> Result<(), SinkError> {
        let _ = (name, labels, at_ns, value);
        Ok(())
    }

    /// Something that happened.
    ///
    /// # Errors
    /// When it could not be stored.
    fn event(&mut self, event: &Event) -> Result<(), SinkError>;
}
