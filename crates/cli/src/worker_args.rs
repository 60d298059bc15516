//! The command line of a worker, which a controller writes.

use clap::Args;

#[derive(Args)]
pub(crate) struct Worker {
    /// Serve whoever started this program, over its input and output
    #[arg(long)]
    pub(crate) stdio: bool,
}
