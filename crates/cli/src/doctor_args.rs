//! The command line of the doctor.

use clap::Args;

#[derive(Args)]
#[command(after_help = "\
It reads, and changes nothing. What it finds is good, doubtful (it may spoil a measurement), unfit
(what is wanted cannot be done) or unknown (this host does not say).

Examples:
  plimsoll doctor
  plimsoll doctor plan.toml
  plimsoll doctor --connections 20000 --json

Exit codes: 0 nothing is unfit, 2 wrong use or plan, 3 something is.")]
pub(crate) struct Doctor {
    /// A plan file: whether this host is fit for it
    pub(crate) plan: Option<String>,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE", requires = "plan")]
    pub(crate) set: Vec<String>,
    /// Another test-bed for the plan
    #[arg(long, value_name = "FILE", requires = "plan")]
    pub(crate) testbed: Option<String>,
    /// Connections that are to be open at once [default: the plan's, or 1000]
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<u64>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
