//! The command line of the page that is looked at while something goes on.

use clap::Args;

#[derive(Args, Clone, Default)]
pub(crate) struct Web {
    /// Serve the report to a browser on this host while it grows, and keep it; at this port or
    /// loopback address, without one at a free port. It ends with the run
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "0")]
    pub(crate) web: Option<String>,
    /// Serve the report on after the end, until interrupted
    #[arg(long, requires = "web")]
    pub(crate) web_stay: bool,
}
