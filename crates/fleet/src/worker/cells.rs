//! Cells, as a worker executes them: lease by lease.

use super::{Controller, Make, Refusal, WorkerError};
use crate::host::Host;
use crate::message::{Answer, CellAnswer, CellsJob, Fault, Lease, LeaseEnd, Order, Piece};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::atomic::Ordering;

/// How a worker's cells ended before their time.
#[derive(Debug)]
pub enum CellsEnd {
    /// They cannot be made ready here, or may not.
    Refused(Refusal),
    /// The session has ended.
    Ended(WorkerError),
}

impl From<Refusal> for CellsEnd {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<WorkerError> for CellsEnd {
    fn from(error: WorkerError) -> Self {
        Self::Ended(error)
    }
}

/// What the controller wants of cells that go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// They go on.
    All,
    /// No further one begins.
    Begun,
    /// They end at once: nobody takes what comes of them.
    None,
}

/// A session in which cells are executed.
pub struct CellSession<'a> {
    controller: &'a Controller,
    host: Host,
}

/// Executes cells until there are no more.
pub(super) fn execute(
    make: &mut dyn Make,
    job: &CellsJob,
    host: Host,
    controller: &Controller,
) -> Result<(), WorkerError> {
    match make.cells(job, &CellSession { controller, host }) {
        Ok(()) => {
            controller.await_end();
            Ok(())
        }
        Err(CellsEnd::Ended(error)) => Err(error),
        Err(CellsEnd::Refused(refusal)) => controller.refuse(refusal),
    }
}

impl CellSession<'_> {
    /// How many processors the worker may use.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.host.processors_count()
    }

    /// Says that all is ready.
    ///
    /// # Errors
    /// Where nobody hears it.
    pub fn ready(&self) -> Result<(), WorkerError> {
        self.controller.say(&Answer::Ready { host: self.host.clone() })
    }

    /// The next lease, however long it takes; `None` where there will be none.
    ///
    /// # Errors
    /// A controller that is silent.
    pub fn next(&self) -> Result<Option<Lease>, WorkerError> {
        loop {
            match self.controller.next_order()? {
                Some(Order::Lease(lease)) => return Ok(Some(lease)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// What is wanted of the cells that go on.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let is = |flag: &std::sync::atomic::AtomicBool| flag.load(Ordering::Acquire);
        if is(&self.controller.is_gone) {
            Wanted::None
        } else if is(&self.controller.is_told_to_end) {
            Wanted::Begun
        } else {
            Wanted::All
        }
    }

    /// Tells a piece of a file of a cell's run.
    ///
    /// # Errors
    /// Where nobody hears it.
    pub fn piece(
        &self,
        (attempt, cell): (u64, u32),
        file: &str,
        piece: &[u8],
    ) -> Result<(), WorkerError> {
        let (file, base64) = (file.to_owned(), STANDARD.encode(piece));
        self.controller.say(&Answer::Piece(Piece { attempt, cell, file, base64 }))
    }

    /// Tells what came of a cell.
    ///
    /// # Errors
    /// Where nobody hears it.
    pub fn cell(&self, cell: CellAnswer) -> Result<(), WorkerError> {
        self.controller.say(&Answer::Cell(Box::new(cell)))
    }

    /// Tells that no more comes of a lease.
    ///
    /// # Errors
    /// Where nobody hears it.
    pub fn end(
        &self,
        attempt: u64,
        notes: Vec<String>,
        fault: Option<Refusal>,
    ) -> Result<(), WorkerError> {
        let fault = fault.map(|Refusal { why, hint, is_usage }| Fault { why, hint, is_usage });
        self.controller.say(&Answer::LeaseEnded(LeaseEnd { attempt, notes, fault }))
    }
}
