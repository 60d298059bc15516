//! What the tests of all crates share, and nothing else may use: how a test says what it could not
//! prove, what it looks for on the host, its turn on the machine, how it waits, and the servers
//! that it starts.
//!
//! `cargo xtask tests` runs every test binary and reads what these functions write. Under plain
//! `cargo test` the same lines are printed, and turns are given out within the binary.
//!
//! | variable | holds |
//! | --- | --- |
//! | [`REPORTS`] | the file that reports are appended to, one JSON object a line |
//! | [`BINARY`] | the name of the test binary, as the runner prints it |
//! | [`TURNS`] | the socket of the runner that gives out turns |
//! | [`SHARED`] | the folder of recorded data beside the project, where it is not `../shared` |

mod host;
mod kernel;
mod ports;
mod report;
mod running;
pub mod servers;
mod turn;
mod wait;

pub use host::{has_namespaces, installed, program, python_peers, shared, websocket_peers};
pub use kernel::{
    cgroups, has_cgroups, has_instances, has_ipv6, has_own_network, has_rates, has_tun,
    may_drop_caches,
};
pub use ports::{free_address, free_port};
pub use report::{ended_with_5, not_judged, skip};
pub use running::Running;
pub use turn::{Turn, Weight};
pub use wait::{PATIENCE, wait_for, wait_until};

/// The file that reports of tests are appended to.
pub const REPORTS: &str = "PLIMSOLL_TEST_REPORTS";
/// The name of the test binary that runs.
pub const BINARY: &str = "PLIMSOLL_TEST_BINARY";
/// The socket that gives out turns.
pub const TURNS: &str = "PLIMSOLL_TEST_TURNS";
/// The folder of recorded data, which is not part of the project.
pub const SHARED: &str = "PLIMSOLL_SHARED";

/// A variable of the environment, where it is set and not empty.
#[expect(clippy::disallowed_methods, reason = "tests are told by their runner where to report")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
