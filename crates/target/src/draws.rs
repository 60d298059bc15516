//! What each request draws: its service, whether it fails, the size of its body.
//!
//! Draw n belongs to the n-th request that arrives, whatever became of those before it, refused
//! ones included; each figure has a random stream of its own. So two servers of one seed give the
//! n-th request the same service, whenever it comes.

use std::collections::BTreeMap;

use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::ServiceTime;

use crate::body::BodySize;
use crate::options::Options;
use crate::paths::PathService;
use crate::slow_start::SlowStart;

/// The random side of a server's behaviour.
#[derive(Debug, Clone)]
pub struct Draws {
    service: ServiceTime,
    speed: f64,
    slow_start: Option<SlowStart>,
    error_share: f64,
    body: BodySize,
    services: Stream,
    /// Paths with a service time of their own: each draws from its own stream.
    paths: BTreeMap<Vec<u8>, (Distribution, Stream)>,
    errors: Stream,
    sizes: Stream,
}

/// One request's share of chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Time it needs of one worker, nanoseconds.
    pub service_ns: u64,
    /// It is answered 500.
    pub is_error: bool,
    /// Body of its answer, bytes, unless it is an error.
    pub body: u64,
}

impl Draws {
    /// The draws of a server with these options.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            service: options.service.clone(),
            speed: options.speed,
            slow_start: options.slow_start,
            error_share: options.error_share,
            body: options.body,
            services: Stream::named(options.seed, "target.service"),
            paths: options.paths.iter().map(|path| of_path(options.seed, path)).collect(),
            errors: Stream::named(options.seed, "target.error"),
            sizes: Stream::named(options.seed, "target.body"),
        }
    }

    /// What the next request draws, which arrives at `at_ns` since time zero.
    pub fn next(&mut self, at_ns: u64) -> Draw {
        self.next_of(at_ns, None)
    }

    /// What the next request draws, which arrives at `at_ns` since time zero and asks for that
    /// path.
    pub fn next_of(&mut self, at_ns: u64, path: Option<&[u8]>) -> Draw {
        let multiple = self.slow_start.map_or(1.0, |slow| slow.multiple(at_ns)) / self.speed;
        let seconds = match path.and_then(|path| self.paths.get_mut(path)) {
            Some((service, draws)) => service.sample(draws),
            None => self.service.sample(&mut self.services),
        } * multiple;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let service_ns = (seconds * 1e9).round() as u64;
        Draw {
            service_ns,
            is_error: self.error_share > 0.0 && self.errors.uniform() < self.error_share,
            body: self.body.draw(&mut self.sizes),
        }
    }
}

fn of_path(seed: u64, path: &PathService) -> (Vec<u8>, (Distribution, Stream)) {
    let draws = Stream::named(seed, &format!("target.service.{}", path.path));
    (path.path.clone().into_bytes(), (path.service, draws))
}
