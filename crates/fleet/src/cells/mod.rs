//! Cells that workers execute, given out by lease.
//!
//! A worker has a lease or two at a time, of about two seconds each at its pace. What comes of a
//! cell names the attempt that it was given out by: where the worker was silent meanwhile, and the
//! cell was given to another one, what comes late is refused and counted. A worker that has ended
//! is not started again; the others go on with its cells.

mod leases;

use crate::crew::{Care, Crew, LOOK, News};
use crate::error::FleetError;
use crate::message::{Answer, CellAnswer, CellsJob, Fault, Lease, LeaseEnd, Order, Piece};
use crate::start::{Input, Start};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use leases::{Leases, TooOften};
use plimsoll_load::clock::monotonic_ns;
use plimsoll_runs::FigureRow;
use plimsoll_runs::experiment::Cell;
use std::collections::BTreeSet;
use std::path::Path;

/// What workers are to execute, and how they are watched.
pub struct CellTerms<'a> {
    /// How each is started.
    pub workers: Vec<Start>,
    /// What the cells are of.
    pub job: CellsJob,
    /// The files that the plan reads, for workers that are not here.
    pub inputs: Vec<Input>,
    /// The version of the program.
    pub version: &'a str,
    /// The root of the file system, below which `proc` and `sys` lie.
    pub system: &'a Path,
    /// The silence after which the cells of a worker are given to others, nanoseconds.
    pub lost_after_ns: u64,
}

/// What came of a cell.
pub struct Done {
    /// Its figures.
    pub figures: Vec<FigureRow>,
    /// How long it took, nanoseconds.
    pub took_ns: u64,
    /// The bytes and the digest of the files of its run, where it has one.
    pub run: Option<(u64, String)>,
    /// Why it came to nothing, where it failed.
    pub failed: Option<String>,
}

/// Whether something that a worker told is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is kept.
    Kept,
    /// It is not what a worker may tell, for this reason.
    Refused(String),
}

/// Who takes what comes of cells.
pub trait Takes {
    /// Why something is not taken; no further cell makes sense then.
    type Error: From<FleetError>;

    /// Whether another cell may be given out.
    fn begins_another(&mut self) -> bool;

    /// Whether all is to end at once.
    fn aborts(&mut self) -> bool;

    /// Takes a piece of a file of a cell's run. `is_first`: of the first piece by this attempt.
    ///
    /// # Errors
    /// Where it cannot be kept.
    fn piece(
        &mut self,
        cell: &Cell,
        is_first: bool,
        file: &str,
        piece: &[u8],
    ) -> Result<Taken, Self::Error>;

    /// Takes what came of a cell.
    ///
    /// # Errors
    /// Where it cannot be kept.
    fn done(&mut self, cell: &Cell, done: Done) -> Result<Taken, Self::Error>;

    /// Hears what a reader should know of what came out.
    fn note(&mut self, text: &str);

    /// Hears of what does not keep the others from going on.
    fn warn(&mut self, text: String);
}

/// Workers that execute cells.
pub struct CellFleet {
    crew: Crew,
    leases: Leases,
    /// Those that were silent for long: they are given nothing until they say something.
    away: BTreeSet<usize>,
    /// Attempts of cells of whose run something has come.
    begun: BTreeSet<(u64, u32)>,
    /// How workers were lost.
    causes: Vec<String>,
    /// Whether they were told to begin nothing more: they end by themselves then.
    has_stopped: bool,
}

impl CellFleet {
    /// Starts workers, and waits until all are ready. Whether it is interrupted is asked several
    /// times a second.
    ///
    /// # Errors
    /// [`FleetError`]: nothing was executed.
    pub fn start(
        terms: CellTerms<'_>,
        mut interrupted: impl FnMut() -> bool,
    ) -> Result<Self, FleetError> {
        let CellTerms { workers, job, inputs, version, system, lost_after_ns } = terms;
        let (version, system) = (version.to_owned(), system.to_owned());
        let care = Care { inputs, version, system, lost_after_ns, may_come_back: true };
        let threads = job.threads;
        let jobs = workers.into_iter().map(|of| (of, Order::Cells(Box::new(job.clone()))));
        let mut crew = Crew::new(care, jobs);
        crew.come(&mut interrupted)?;
        let of_host = |number| crew.host(number).map_or(1, |(host, _)| host.processors_count());
        let threads_of = |number| threads.map_or_else(|| of_host(number), |of| of as usize);
        let leases = Leases::of((0..crew.len()).map(threads_of));
        let (away, begun, causes) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        Ok(Self { crew, leases, away, begun, causes, has_stopped: false })
    }

    /// How many results were refused: of another attempt than the one that a cell was given out by
    /// last.
    #[must_use]
    pub fn fenced(&self) -> u64 {
        self.leases.fenced()
    }

    /// Executes cells, and hands over what comes of each.
    ///
    /// # Errors
    /// Where no worker is left, a cell has ended several of them, or what comes cannot be kept.
    pub fn execute<T: Takes>(&mut self, cells: &[Cell], takes: &mut T) -> Result<(), T::Error> {
        self.leases.wait(cells.iter().cloned());
        let executed = self.go_on(takes);
        if executed.is_err() {
            self.leases.forget_waiting();
        }
        executed
    }

    fn go_on<T: Takes>(&mut self, takes: &mut T) -> Result<(), T::Error> {
        while !self.leases.is_over() {
            if takes.aborts() {
                self.crew.tell_all(|| Order::Abort);
                return Ok(());
            }
            if !self.has_stopped && !takes.begins_another() {
                self.has_stopped = true;
                self.crew.tell_all(|| Order::Stop);
            }
            if self.has_stopped {
                self.leases.forget_waiting();
            } else {
                self.give();
            }
            for news in self.crew.listen(LOOK).0 {
                self.hear(news, takes)?;
            }
            if self.has_stopped && !self.leases.is_given() {
                break;
            }
            if self.away.len() + self.ended() == self.crew.len() && self.ended() > 0 {
                let causes = self.causes.join("; ");
                return Err(FleetError::NoneLeft { causes }.into());
            }
        }
        Ok(())
    }

    fn ended(&self) -> usize {
        (0..self.crew.len()).filter(|&number| self.crew.has_ended(number)).count()
    }

    /// Gives cells to those that have few.
    fn give(&mut self) {
        for number in 0..self.crew.len() {
            if self.crew.has_ended(number) || self.away.contains(&number) {
                continue;
            }
            while let Some((attempt, cells)) = self.leases.give(number, monotonic_ns()) {
                let cells = cells.iter().map(Into::into).collect();
                self.crew.tell(number, &Order::Lease(Lease { attempt, cells }));
            }
        }
    }

    fn hear<T: Takes>(&mut self, news: News, takes: &mut T) -> Result<(), T::Error> {
        let (number, answer) = match news {
            // Who is lost for what he told is not heard any more.
            News::Answer(number, ..) if self.crew.has_ended(number) => return Ok(()),
            News::Answer(number, answer, _) => (number, answer),
            News::Refused(_, error) => return Err(error.into()),
            News::Lost(number, cause) => return self.lose(number, &cause, takes),
        };
        if self.away.remove(&number) {
            takes.warn(format!("{} is back", self.crew.name(number)));
        }
        match answer {
            Answer::Piece(piece) => self.take_piece(number, piece, takes),
            Answer::Cell(cell) => self.take(number, *cell, takes),
            Answer::LeaseEnded(end) => self.end(number, end, takes),
            // Signs of life; what is of a load is nothing that it was asked for.
            _ => Ok(()),
        }
    }

    fn lose<T: Takes>(
        &mut self,
        number: usize,
        cause: &str,
        takes: &mut T,
    ) -> Result<(), T::Error> {
        let name = self.crew.name(number).to_owned();
        let was_killed = self.crew.has_ended(number);
        if was_killed {
            self.away.remove(&number);
        } else {
            self.away.insert(number);
        }
        if self.has_stopped && !self.leases.has(number) {
            return Ok(());
        }
        self.causes.push(format!("{name}: {cause}"));
        takes.warn(format!("{name} is lost: {cause}; its cells are given to others"));
        self.leases.lose(number, was_killed).map_err(|TooOften { cell, times }| {
            FleetError::CellEnds { cell, times, cause: cause.to_owned() }.into()
        })
    }

    fn take_piece<T: Takes>(
        &mut self,
        number: usize,
        Piece { attempt, cell, file, base64 }: Piece,
        takes: &mut T,
    ) -> Result<(), T::Error> {
        // One that comes late is counted when its cell comes.
        let Some(of) = self.leases.cell(number, attempt, cell) else { return Ok(()) };
        let Ok(piece) = STANDARD.decode(base64) else {
            return self.reject(number, "a piece that is no base64", takes);
        };
        let is_first = self.begun.insert((attempt, cell));
        let taken = takes.piece(&of, is_first, &file, &piece)?;
        self.judge(number, taken, takes)
    }

    fn take<T: Takes>(
        &mut self,
        number: usize,
        CellAnswer { attempt, cell, figures, took_ns, run, failed }: CellAnswer,
        takes: &mut T,
    ) -> Result<(), T::Error> {
        let figures = figures.into_iter().map(Into::into).collect();
        let run = run.map(|run| (run.bytes, run.sha256));
        let Some(of) = self.leases.cell(number, attempt, cell) else {
            self.leases.refuse();
            return Ok(());
        };
        let taken = takes.done(&of, Done { figures, took_ns, run, failed })?;
        self.begun.remove(&(attempt, cell));
        if taken == Taken::Kept {
            self.leases.take(number, attempt, cell);
        }
        self.judge(number, taken, takes)
    }

    fn end<T: Takes>(
        &mut self,
        number: usize,
        LeaseEnd { attempt, notes, fault }: LeaseEnd,
        takes: &mut T,
    ) -> Result<(), T::Error> {
        if !self.leases.end(number, attempt, monotonic_ns()) {
            return Ok(());
        }
        self.begun.retain(|(of, _)| *of != attempt);
        notes.iter().for_each(|note| takes.note(note));
        let Some(Fault { why, hint, is_usage }) = fault else { return Ok(()) };
        let worker = self.crew.name(number).to_owned();
        Err(FleetError::Fault { worker, why, hint, is_usage }.into())
    }

    fn judge<T: Takes>(
        &mut self,
        number: usize,
        taken: Taken,
        takes: &mut T,
    ) -> Result<(), T::Error> {
        match taken {
            Taken::Kept => Ok(()),
            Taken::Refused(why) => self.reject(number, &why, takes),
        }
    }

    /// A worker says what nobody may: it is not heard any more.
    fn reject<T: Takes>(
        &mut self,
        number: usize,
        why: &str,
        takes: &mut T,
    ) -> Result<(), T::Error> {
        self.crew.lose(number);
        self.lose(number, &format!("it told {why}"), takes)
    }
}
