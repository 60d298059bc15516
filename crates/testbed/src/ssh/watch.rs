//! What is done to have a host watched: this program's copy there runs as its agent, which tells
//! what the host does, on a port of its loopback, to who has its token. A port of this host's
//! loopback leads there.

use std::path::Path;
use std::time::Duration;

use plimsoll_units::show_duration;

use crate::agent::Agent;
use crate::cgroup::group_of;
use crate::launch::Order;
use crate::op::Op;
use crate::recipe::Stop;
use crate::ssh::hosts::PROGRAM;

/// The file of the token, in the agent's folder.
const TOKEN: &str = "token";

/// What agents watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// How often.
    pub every: Duration,
    /// Names of programs whose processes are counted.
    pub processes: Vec<String>,
    /// Whether hosts themselves are watched.
    pub hosts: bool,
    /// Whether instances are, by cgroups that each gets.
    pub cgroups: bool,
}

/// What is done on the host of a bed, whose program is in `folder`.
pub(crate) fn ops(
    agent: &Agent,
    (bed, host): (&str, &str),
    folder: &Path,
    watch: &Watch,
) -> Vec<Op> {
    let own = folder.join("agent");
    let every = u64::try_from(watch.every.as_nanos()).unwrap_or(u64::MAX);
    let program = folder.join(PROGRAM);
    let token = own.join(TOKEN);
    let mut words = vec![program.display().to_string()];
    words.extend(["agent", "--listen", "127.0.0.1:0", "--token-file"].map(str::to_owned));
    words.extend([token.display().to_string(), "--every".to_owned(), show_duration(every)]);
    if !watch.processes.is_empty() {
        words.extend(["--processes".to_owned(), watch.processes.join(",")]);
    }
    if watch.cgroups {
        words.extend(["--cgroups".to_owned(), group_of(bed, "")]);
        words.extend((!watch.hosts).then(|| "--no-host".to_owned()));
    }
    let folder = || own.clone();
    vec![
        Op::Folder { path: folder(), user: None },
        Op::Write {
            folder: folder(),
            path: TOKEN.to_owned(),
            text: agent.token.clone(),
            is_secret: true,
            user: None,
        },
        Op::Start {
            instance: format!("agent of {host}"),
            folder: folder(),
            order: Order { words, ..Order::default() },
            stop: Stop::default(),
        },
        Op::Forward { folder: folder(), here: agent.address.clone() },
    ]
}
