//! One process of the market: it accepts connections and gives them to its workers in turn, each a
//! thread with an executor of its own; what comes from Redis goes to all of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::announcer::{Announcer, Rules, Waiting};
use crate::args::{Args, Switch, Waiting as HowToWait};
use crate::bus::{Bus, Heard, listen};
use crate::feed::Feed;
use crate::hub::Event;
use crate::log::Log;
use crate::market::{Calls, Settings, Workers, token_hash};
use crate::metrics::Metrics;
use crate::resolver::Resolver;
use crate::store::{Store, StoreError};
use crate::worker::{Given, Work};

/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 4_096;

/// Connections to the database for what the process does by itself.
const OWN_CONNECTIONS: u16 = 4;

/// Events and connections that wait for a worker.
const QUEUE: usize = 1_024;

/// How long Redis may take until others are heard.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long clients have when the process ends.
const GRACE: Duration = Duration::from_secs(10);

/// Why a process does not serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// The address cannot be listened at.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The administrator's token cannot be read.
    #[error("cannot read the administrator's token of {0}: {1}")]
    Token(String, std::io::Error),
    /// The administrator's token could be guessed.
    #[error("the administrator's token of {0} has {1} bytes: give it 16 to 1000")]
    ShortToken(String, usize),
    /// Redis is not there.
    #[error("cannot use Redis: {0}")]
    Redis(#[from] redis::RedisError),
    /// The database is not there.
    #[error("cannot use the database: {0}")]
    Store(#[from] StoreError),
    /// The kernel gives no thread or no executor.
    #[error("cannot start a worker: {0}")]
    Worker(std::io::Error),
}

/// What one process has once.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) args: Arc<Args>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Arc<Log>,
    pub(crate) waiting: Waiting,
    pub(crate) workers: Workers,
}

impl Process {
    /// What tells of predictions, with connections of its own; they belong to this executor.
    pub(crate) async fn announcer(&self, connections: u16) -> Result<Announcer, ServerError> {
        let Args { database, database_replica, redis, redis_replica, .. } = &*self.args;
        let (metrics, log) = (self.metrics.clone(), self.log.clone());
        let store = Store::new(database, database_replica.as_deref(), connections, metrics, log)?;
        let bus = Bus::connect(redis, redis_replica.as_deref(), self.metrics.clone()).await?;
        let rules = Rules {
            batching: self.args.batching,
            check: self.args.batch_check,
            window: self.args.window,
        };
        Ok(Announcer { bus, store, rules, waiting: self.waiting.clone() })
    }
}

/// An executor of one thread.
pub(crate) fn executor() -> Result<Runtime, ServerError> {
    Builder::new_current_thread().enable_all().build().map_err(ServerError::Worker)
}

/// Serves until the process is told to end.
pub(crate) async fn serve(args: Args) -> Result<(), ServerError> {
    let settings = Settings {
        admin: admin(&args)?,
        list_predictions: args.list_predictions == Switch::On,
        echo: args.echo,
        rake: args.rake,
    };
    let (later, look_again) = mpsc::unbounded_channel();
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..args.workers).map(|_| mpsc::channel::<Event>(QUEUE)).unzip();
    let process = Process {
        args: Arc::new(args),
        settings: Arc::new(settings),
        metrics: Arc::default(),
        log: Arc::default(),
        waiting: Waiting::new(later),
        workers: Workers(senders.into()),
    };
    let announcer = process.announcer(OWN_CONNECTIONS).await?;
    announcer.store.make_tables().await?;
    let (going, is_going) = watch::channel(false);
    let (done, is_done) = watch::channel(false);
    let mut givers = Vec::new();
    let mut threads = Vec::new();
    for events in receivers {
        let (giver, given) = mpsc::channel(QUEUE);
        let (going, done) = (is_going.clone(), is_done.clone());
        let work = Work { process: process.clone(), events, given, going, done };
        threads.push(start(work, &process).await?);
        givers.push(giver);
    }
    // Who subscribes at once hears of what comes at once; a Redis that is lost meanwhile is looked
    // for while the process serves.
    let _ = tokio::time::timeout(PATIENCE, alongside(&process, announcer, look_again)).await;
    let listener = bind(process.args.listen)?;
    let places =
        Arc::new(Semaphore::new(usize::try_from(process.args.max_connections).unwrap_or(1)));
    tokio::select! {
        () = accept(&listener, &givers, &places, &process) => {}
        () = told_to_end() => {}
    }
    drop((listener, givers));
    // Clients are told, and have a while to go.
    going.send_replace(true);
    let all = process.args.max_connections;
    let _ = tokio::time::timeout(GRACE, places.acquire_many(all)).await;
    done.send_replace(true);
    for thread in threads {
        // What a worker panicked with is on standard error.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
    Ok(())
}

/// Starts a worker, with stores of its own, or with those of this executor where it waits for them.
async fn start(work: Work, process: &Process) -> Result<std::thread::JoinHandle<()>, ServerError> {
    let shared = match process.args.db {
        HowToWait::Async => None,
        HowToWait::Blocking => {
            let announcer = process.announcer(process.args.db_connections).await?;
            Some((announcer, Calls::Blocking(Handle::current())))
        }
    };
    let (ready, is_ready) = oneshot::channel();
    let body = move || {
        let executor = match executor() {
            Ok(executor) => executor,
            Err(error) => return drop(ready.send(Err(error))),
        };
        executor.block_on(async {
            let stores = match shared {
                Some(shared) => Ok(shared),
                None => {
                    let connections = work.process.args.db_connections;
                    let own = work.process.announcer(connections).await;
                    own.map(|announcer| (announcer, Calls::Async))
                }
            };
            match stores {
                Ok((announcer, calls)) => {
                    let _ = ready.send(Ok(()));
                    work.run(announcer, calls).await;
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        });
    };
    let thread = std::thread::Builder::new().name("worker".to_owned()).spawn(body);
    let thread = thread.map_err(ServerError::Worker)?;
    match is_ready.await {
        Ok(ready) => ready.map(|()| thread),
        Err(_) => Err(ServerError::Worker(std::io::Error::other("it has ended"))),
    }
}

/// What the process does beside its workers. It tells when it hears what others publish.
fn alongside(
    process: &Process,
    announcer: Announcer,
    look_again: mpsc::UnboundedReceiver<crate::announcer::Later>,
) -> oneshot::Receiver<()> {
    let args = &process.args;
    let resolver = Resolver { store: announcer.store.clone(), bus: announcer.bus.clone() };
    tokio::spawn(resolver.clone().close_overdue());
    if let Some(seed) = args.feed {
        let feed = Feed { resolver, seed, match_time: args.match_time, rake: args.rake };
        tokio::spawn(feed.play());
    }
    tokio::spawn(announcer.clone().look_again(look_again));
    let (heard, mut hear) = mpsc::channel(QUEUE);
    let url = args.redis_replica.clone().unwrap_or_else(|| args.redis.clone());
    let (ready, is_ready) = oneshot::channel();
    tokio::spawn(async move { listen(&url, &heard, ready).await });
    let process = process.clone();
    tokio::spawn(async move {
        while let Some(heard) = hear.recv().await {
            let event = event(heard, &announcer, &process).await;
            process.workers.tell(&event).await;
        }
    });
    is_ready
}

/// What the workers' clients have to know of what was heard.
async fn event(heard: Heard, announcer: &Announcer, process: &Process) -> Event {
    match heard {
        Heard::Distribution(broadcast) => {
            process.metrics.broadcasts.add(1);
            Event::Distribution(Arc::new(broadcast))
        }
        Heard::Resolved { game, pool, outcome } => {
            // Where the database does not tell now, users see their balance when they ask.
            let payouts = Arc::new(announcer.store.payouts(pool).await.unwrap_or_default());
            Event::Resolved { game, pool, outcome, payouts }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    workers: &[mpsc::Sender<Given>],
    places: &Arc<Semaphore>,
    process: &Process,
) {
    for worker in workers.iter().cycle() {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    process.log.say(&format!("cannot accept: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        };
        // A worker registers it with its own executor.
        let Ok(stream) = stream.into_std() else { continue };
        if worker.send((stream, place)).await.is_err() {
            return;
        }
    }
}

async fn told_to_end() {
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    match (terminate, interrupt) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        // Without handlers the kernel ends the process.
        _ => std::future::pending().await,
    }
}

fn bind(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let text = format!("listening at http://{}\n", listener.local_addr()?);
        std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
        Ok(listener)
    };
    bound().map_err(|error| ServerError::Listen(address, error))
}

/// The digest of the administrator's token, where there is one.
fn admin(args: &Args) -> Result<Option<Vec<u8>>, ServerError> {
    let Some(file) = &args.admin_token else { return Ok(None) };
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| ServerError::Token(name.clone(), error))?;
    let token = text.trim();
    if (16..=1_000).contains(&token.len()) {
        Ok(Some(token_hash(token)))
    } else {
        Err(ServerError::ShortToken(name, token.len()))
    }
}
