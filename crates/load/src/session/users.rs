//! The users of a session before any has arrived.

use super::Load;
use crate::config::{Config, Part};
use crate::source::users::{Arrivals, Numbers, Users};
use crate::source::{Open, Source};
use plimsoll_workload::arrivals::Share;
use std::sync::Arc;

/// The users of one share, where the load is of users.
pub(crate) fn users(
    config: &Config,
    load: &Load,
    share: Share,
    numbers: &Arc<Numbers>,
) -> Option<Source> {
    let of = config.users.as_ref()?;
    let (index, all) = (u64::from(share.index), u64::from(share.of.max(1)));
    let arrivals = match load {
        Load::Open { limit } => {
            let part = limit.map(|limit| limit / all + u64::from(index < limit % all));
            let open = Box::new(Open::new(config.seed, share, None, part));
            Arrivals::Open { open, next: index, step: all }
        }
        Load::Closed { users, limit, .. } => {
            Arrivals::closed(u64::from(*users), (index, all), of.connect_rate, *limit)
        }
    };
    let users = Users::new(of.scenario.clone(), arrivals, numbers.clone(), config.timeout_ns);
    Some(Source::Users(Box::new(users)))
}

/// The numbers of users over all threads, of which each process has those of its own.
pub(crate) fn numbers(load: &Load, part: Part) -> Arc<Numbers> {
    let (process, processes) = (u64::from(part.process), u64::from(part.processes));
    Arc::new(match load {
        Load::Open { limit } => Numbers::new((process, processes), *limit),
        Load::Closed { users, limit, .. } => {
            let first = u64::from(*users).min(limit.unwrap_or(u64::MAX));
            Numbers::new((first + process, processes), *limit)
        }
    })
}
