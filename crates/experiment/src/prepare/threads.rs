//! How many threads, and how they wait, where the plan leaves it to us.

use super::division::Division;
use plimsoll_load::Pacing as Engine;
use plimsoll_plan::{LoadShape, Pacing, Plan};

/// Beyond this rate one thread is not enough for any server's answers.
const RATE_OF_ONE: f64 = 20_000.0;
/// Beyond so many users likewise.
const USERS_OF_ONE: u32 = 256;

/// The cores of the host, and those that the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// All that are online.
    pub online: u32,
    /// Those that the process is allowed (`sched_setaffinity(2)`, `cpuset`).
    pub allowed: u32,
}

/// How many threads there are, how they wait, and how they are divided among workers.
pub(super) fn of(plan: &Plan, peak_per_s: f64, cores: Cores) -> (u32, Engine, Option<Division>) {
    let threads = count(plan, peak_per_s, cores);
    let fleet = Division::of(plan, threads, spinning(plan, cores));
    let all = fleet.as_ref().map_or(threads, Division::all_threads);
    // Workers elsewhere may have other cores than those of this host.
    let pacing = fleet.as_ref().and_then(Division::pacing);
    (all, pacing.unwrap_or_else(|| self::pacing(plan, threads, cores)), fleet)
}

/// The number of threads.
fn count(plan: &Plan, peak_per_s: f64, cores: Cores) -> u32 {
    let enough = match &plan.load.shape {
        LoadShape::Closed { users, .. } => *users <= USERS_OF_ONE,
        LoadShape::Open { .. } | LoadShape::Replay => peak_per_s <= RATE_OF_ONE,
    };
    let auto = if enough { 1 } else { cores.allowed.max(1) };
    plan.load.threads.unwrap_or(auto).clamp(1, plan.load.connections.most.max(1))
}

/// How many threads may spin, whichever processes they are of.
fn spinning(plan: &Plan, cores: Cores) -> u32 {
    match plan.load.pacing {
        Pacing::Precise => u32::MAX,
        Pacing::Thrifty => 0,
        Pacing::Auto if cores.allowed < cores.online => cores.allowed,
        Pacing::Auto => cores.allowed.saturating_sub(1),
    }
}

/// How threads wait: they spin only where they own their cores, which is where the process was
/// given cores of its own, or where cores are left for everything else.
fn pacing(plan: &Plan, threads: u32, cores: Cores) -> Engine {
    let pinned = cores.allowed < cores.online && threads <= cores.allowed;
    match plan.load.pacing {
        Pacing::Precise => Engine::Precise,
        Pacing::Thrifty => Engine::Thrifty,
        Pacing::Auto if pinned || threads < cores.allowed => Engine::Precise,
        Pacing::Auto => Engine::Thrifty,
    }
}
