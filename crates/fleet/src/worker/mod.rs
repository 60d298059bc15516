//! A worker's own side: it makes ready what it is told to, begins at the moment that it is told,
//! and tells what it observes. It ends with whoever told it.

mod cells;

pub use cells::{CellSession, CellsEnd, Wanted};

use crate::host::Host;
use crate::lines::{self, Speaker};
use crate::message::{Answer, CellsJob, GREETING, Greeting, Job, LONGEST, Order};
use crate::silence::Silence;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_load::clock::{Clock, monotonic_ns, process_cpu_ns};
use plimsoll_load::run::Offer;
use plimsoll_load::{Config, Session, Slice, Times};
use plimsoll_units::failure::{Failure, Kind, chain};
use serde::Serialize;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A controller that has said nothing for so long is lost.
const LOST_AFTER_NS: u64 = 5_000_000_000;
/// So long where it executes cells, of which nobody takes harm.
const CELLS_LOST_AFTER_NS: u64 = 60_000_000_000;
/// Its last words may take so long.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often is looked for orders.
const LOOK: Duration = Duration::from_millis(25);

/// What a job comes to on this host.
pub struct Made {
    /// The engine's settings.
    pub config: Config,
    /// What is offered.
    pub offer: Offer,
    /// The highest rate of all workers together that it takes part in, requests a second; `None`
    /// where it takes part in any.
    pub most_rate_per_s: Option<f64>,
}

/// Who makes ready what a worker is told to do.
pub trait Make {
    /// Takes a piece of a file that the plan reads, behind what came of it before.
    ///
    /// # Errors
    /// One that is not taken.
    fn take(&mut self, name: &str, piece: &[u8]) -> Result<(), Refusal>;

    /// Makes ready what a job asks for. Files that were taken are not kept after it.
    ///
    /// # Errors
    /// What cannot be done here, or may not.
    fn make(&mut self, job: &Job) -> Result<Made, Refusal>;

    /// Executes cells, lease by lease, as long as a session has some. Files that were taken are
    /// kept until it ends.
    ///
    /// # Errors
    /// What cannot be done here, or may not; the session's.
    fn cells(&mut self, job: &CellsJob, session: &CellSession<'_>) -> Result<(), CellsEnd>;
}

/// Why a job is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub why: String,
    /// What could be done about it.
    pub hint: Option<String>,
    /// Whether what was asked for is wrong.
    pub is_usage: bool,
}

impl Refusal {
    /// What an error says.
    pub fn of(error: &impl Failure) -> Self {
        let is_usage = error.kind() == Kind::Usage;
        Self { why: chain(error), hint: error.hint(), is_usage }
    }
}

/// How a session ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Its controller spoke another version, or none.
    #[error("serve a controller: {0}")]
    Greeting(String),
    /// What it was told cannot be done here. The controller has heard why.
    #[error("do what the controller asked for: {0}")]
    Refused(String),
    /// Its controller is gone, or silent: what it did has ended.
    #[error("go on: {0}")]
    Abandoned(&'static str),
    /// Nobody can hear it.
    #[error("answer the controller")]
    Unheard(#[source] io::Error),
}

impl Failure for WorkerError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Greeting(_) => {
                Some("a worker is started by `plimsoll load --workers N`, not by hand".to_owned())
            }
            _ => None,
        }
    }
}

/// What it says without owning it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum BorrowedMessage<'a> {
    Slice(&'a Slice),
}

/// The controller, as a worker has it.
struct Controller {
    speaker: Speaker,
    orders: Mutex<Receiver<Order>>,
    heard: Arc<AtomicU64>,
    is_gone: Arc<AtomicBool>,
    /// Whether it was told to end.
    is_told_to_end: Arc<AtomicBool>,
    /// A controller that has said nothing for so long is lost, nanoseconds.
    lost_after_ns: u64,
}

/// What a worker says of itself.
pub struct Own<'a> {
    /// The version of its program.
    pub version: &'a str,
    /// The host that it is on.
    pub host: Host,
    /// Tells the most memory that its process had, bytes.
    pub memory: &'a dyn Fn() -> Option<u64>,
    /// Whether somebody stands between, who knows better when the controller of cells is lost: he
    /// closes the connection then.
    pub is_relayed: bool,
}

/// Serves one controller, from its greeting until it is gone. `make` makes ready what a job asks
/// for, and may refuse it.
///
/// # Errors
/// [`WorkerError`]; no load goes on then.
pub fn serve<I: BufRead + Send + 'static, O: Write + Send + 'static>(
    (mut input, mut output): (I, O),
    Own { version, host, memory, is_relayed }: Own<'_>,
    make: &mut dyn Make,
) -> Result<(), WorkerError> {
    let own = Greeting::of(version);
    let greeting = lines::line(GREETING, &own).and_then(|line| output.write_all(&line));
    greeting.and_then(|()| output.flush()).map_err(WorkerError::Unheard)?;
    let is_gone = Arc::<AtomicBool>::default();
    let is_over = is_gone.clone();
    let speaker = Speaker::to(output, move || is_over.store(true, Ordering::Release));
    let greeting = lines::greeting::<Greeting>(&mut input, GREETING);
    let greeting = greeting.map_err(|error| WorkerError::Greeting(error.to_string()))?;
    let greeting = greeting.ok_or_else(|| WorkerError::Greeting("nobody greets".to_owned()))?;
    if let Some(why) = own.refusal(&greeting) {
        return Err(WorkerError::Greeting(why));
    }
    let mut controller = Controller::new(input, speaker, is_gone);
    let made = match request(make, &controller) {
        Ok(Request::Load(job)) => made(make, &job, &controller),
        Ok(Request::Cells(job)) => {
            controller.lost_after_ns = if is_relayed { u64::MAX } else { CELLS_LOST_AFTER_NS };
            return cells::execute(make, &job, host, &controller);
        }
        Err(unmade) => Err(unmade),
    };
    let (mut session, offer, most_rate_per_s) = match made {
        Err(Unmade::Ended(error)) => return Err(error),
        Ok(made) => made,
        Err(Unmade::Refused(refusal)) => return controller.refuse(refusal),
    };
    controller.say(&Answer::Ready { host })?;
    let Some(Order::Begin { at_ns }) = controller.next_order()? else { return Ok(()) };
    session.begin(Clock::from_origin(at_ns));
    controller.say(&Answer::Begun { late_ns: monotonic_ns().saturating_sub(at_ns) })?;
    // The engine's threads may have to share a core with this one.
    plimsoll_load::sys::give_way();
    go_on(&mut session, (&offer, most_rate_per_s), &controller)?;
    let max_rss_bytes = memory();
    controller.say(&Answer::Ended { cpu_ns: process_cpu_ns(), max_rss_bytes })?;
    controller.await_end();
    Ok(())
}

/// Why there is no load.
enum Unmade {
    Refused(Refusal),
    Ended(WorkerError),
}

impl From<Refusal> for Unmade {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What is asked of it.
enum Request {
    Load(Box<Job>),
    Cells(Box<CellsJob>),
}

/// Takes files, up to what is asked of it.
fn request(make: &mut dyn Make, controller: &Controller) -> Result<Request, Unmade> {
    loop {
        match controller.next_order().map_err(Unmade::Ended)? {
            Some(Order::Input { name, base64 }) => {
                let refuse =
                    |why: &str| Refusal { why: why.to_owned(), hint: None, is_usage: false };
                let piece = STANDARD.decode(base64);
                make.take(
                    &name,
                    &piece.map_err(|_| refuse("a piece of a file that is no base64"))?,
                )?;
            }
            Some(Order::Job(job)) => return Ok(Request::Load(job)),
            Some(Order::Cells(job)) => return Ok(Request::Cells(job)),
            _ => {
                let text = "its first order is no job".to_owned();
                return Err(Unmade::Ended(WorkerError::Greeting(text)));
            }
        }
    }
}

/// Makes a part of a load ready.
fn made(
    make: &mut dyn Make,
    job: &Job,
    controller: &Controller,
) -> Result<(Session, Offer, Option<f64>), Unmade> {
    let Made { config, offer, most_rate_per_s } = make.make(job)?;
    let is_gone = || controller.is_gone.load(Ordering::Acquire);
    let session = Session::connect(&config, &offer.load(), is_gone);
    Ok((session.map_err(|error| Refusal::of(&error))?, offer, most_rate_per_s))
}

/// Tells slices and obeys orders until the load has ended.
fn go_on(
    session: &mut Session,
    (offer, most_rate_per_s): (&Offer, Option<f64>),
    controller: &Controller,
) -> Result<(), WorkerError> {
    let mut heard = 0;
    let mut silence = Silence::from(monotonic_ns());
    while !session.has_ended() {
        if let Some(slice) = session.next_slice(LOOK) {
            controller.say(&BorrowedMessage::Slice(slice))?;
        }
        while let Some(order) = controller.order_at_once() {
            if let Order::OfferRate { rate_per_s, .. } = order
                && most_rate_per_s.is_some_and(|most| rate_per_s > most)
            {
                session.abort();
                return controller.refuse(Refusal {
                    why: format!("{rate_per_s:.0}/s are more than it may take part in"),
                    hint: None,
                    is_usage: false,
                });
            }
            obey(session, offer, &order);
        }
        if controller.is_gone.load(Ordering::Acquire) {
            session.abort();
            return Err(WorkerError::Abandoned("its controller is gone"));
        }
        let now = controller.heard.load(Ordering::Acquire);
        if now != heard {
            heard = now;
            silence.end();
        }
        if silence.look(monotonic_ns()) > controller.lost_after_ns {
            session.abort();
            return Err(WorkerError::Abandoned("its controller is silent"));
        }
    }
    Ok(())
}

fn obey(session: &mut Session, offer: &Offer, order: &Order) {
    match order {
        Order::Offer { from_ns, part } => {
            let Offer::Open { parts, .. } = offer else { return };
            if let Some(times) = parts.get(*part) {
                session.offer(*from_ns, times);
            }
        }
        Order::OfferRate { from_ns, rate_per_s, length_ns } => {
            // One that no schedule can have, the controller has refused.
            if let Ok(times) = Times::at_rate(*rate_per_s, *length_ns) {
                session.offer(*from_ns, &times);
            }
        }
        Order::DiscardWaiting => session.discard_waiting(),
        Order::MeasureFrom(at_ns) => session.measure_from(*at_ns),
        Order::EndAt(at_ns) => session.end_at(*at_ns),
        Order::Stop => session.stop(),
        Order::Abort => session.abort(),
        Order::Input { .. }
        | Order::Job(_)
        | Order::Cells(_)
        | Order::Lease(_)
        | Order::Begin { .. }
        | Order::Ping { .. } => {}
    }
}

impl Controller {
    /// Hears it from now on, on a thread of its own, which answers at once what time it is.
    fn new<I: BufRead + Send + 'static>(
        input: I,
        speaker: Speaker,
        is_gone: Arc<AtomicBool>,
    ) -> Self {
        let (tell, orders) = channel();
        let heard = Arc::<AtomicU64>::default();
        let is_told_to_end = Arc::<AtomicBool>::default();
        let ends = (speaker.clone(), heard.clone(), is_gone.clone(), is_told_to_end.clone());
        std::thread::spawn(move || hear(input, &tell, &ends));
        let orders = Mutex::new(orders);
        Self { speaker, orders, heard, is_gone, is_told_to_end, lost_after_ns: LOST_AFTER_NS }
    }

    fn say(&self, what: &impl Serialize) -> Result<(), WorkerError> {
        self.speaker.say("", what).map_err(WorkerError::Unheard)
    }

    fn orders(&self) -> MutexGuard<'_, Receiver<Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next order, where there is one already.
    fn order_at_once(&self) -> Option<Order> {
        self.orders().try_recv().ok()
    }

    /// Says why a job is not done, and ends with its controller.
    fn refuse(&self, refusal: Refusal) -> Result<(), WorkerError> {
        let Refusal { why, hint, is_usage } = refusal;
        self.say(&Answer::Refused { why: why.clone(), hint, is_usage })?;
        self.await_end();
        Err(WorkerError::Refused(why))
    }

    /// The next order, however long it takes; `None` where there will be none, or it is one to end.
    fn next_order(&self) -> Result<Option<Order>, WorkerError> {
        let (mut heard, mut silence) = (0, Silence::from(monotonic_ns()));
        loop {
            match self.orders().recv_timeout(LOOK) {
                Ok(Order::Abort | Order::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok(None);
                }
                Ok(order) => return Ok(Some(order)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.heard.load(Ordering::Acquire);
            if now != heard {
                heard = now;
                silence.end();
            }
            if silence.look(monotonic_ns()) > self.lost_after_ns {
                return Err(WorkerError::Abandoned("its controller is silent"));
            }
        }
    }

    /// Waits until it is gone, or silent.
    fn await_end(&self) {
        while let Ok(Some(_)) = self.next_order() {}
        self.speaker.finish(LAST_WORDS);
    }
}

/// What the thread that hears a controller shares with the others.
type Ends = (Speaker, Arc<AtomicU64>, Arc<AtomicBool>, Arc<AtomicBool>);

fn hear(mut input: impl BufRead, tell: &Sender<Order>, ends: &Ends) {
    let (speaker, heard, is_gone, is_told_to_end) = ends;
    while let Ok(Some(line)) = lines::read(&mut input, LONGEST) {
        let received_ns = monotonic_ns();
        let Ok(order) = lines::parse::<Order>(&line) else { break };
        heard.fetch_add(1, Ordering::AcqRel);
        let is_heard = match order {
            Order::Ping { sent_ns } => {
                let answered_ns = monotonic_ns();
                speaker.say("", &Answer::Pong { sent_ns, received_ns, answered_ns }).is_ok()
            }
            order => {
                if matches!(order, Order::Stop | Order::Abort) {
                    is_told_to_end.store(true, Ordering::Release);
                }
                tell.send(order).is_ok()
            }
        };
        if !is_heard {
            break;
        }
    }
    is_gone.store(true, Ordering::Release);
}
