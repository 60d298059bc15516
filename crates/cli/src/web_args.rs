//! The command line of the page that is looked at while something goes on.

use clap::Args;

#[derive(Args, Clone, Default)]
pub(crate) struct Web {
    /// Serve the report to a browser on this host while it grows, and keep it; at this port or
    /// loopback address, without one at a free port. It ends with the run
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "0",
        value_parser = no_target)]
    pub(crate) web: Option<String>,
    /// Serve the report on after the end, until interrupted
    #[arg(long, requires = "web")]
    pub(crate) web_stay: bool,
}

/// The value of `--web`, which takes the word behind it: a target or a plan is meant for something
/// else.
fn no_target(text: &str) -> Result<String, String> {
    if text.contains("://") || text.ends_with(".toml") {
        let why = "expected a port or a loopback address; put the target before it";
        return Err(format!("{why}: {text} --web"));
    }
    Ok(text.to_owned())
}
