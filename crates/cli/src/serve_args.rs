//! The command line of the server of runs.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Asked for: / (the runs), /NAME/ (the files of one), /NAME/report (its page), /NAME/files/PATH,
/runs.json and /NAME/files.json. Only GET and HEAD are answered, and nothing is changed.

Examples:
  plimsoll serve --runs
  plimsoll serve --runs /data/runs --listen 127.0.0.1:9000
  plimsoll serve --runs --listen 0.0.0.0:8443 --token-file token --cert chain.pem --key key.pem

Exit codes: 0 ended by a signal, 2 wrong use, 4 the port cannot be had.")]
pub(crate) struct Serve {
    /// The folder of the runs
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Where to listen; beyond this host only with a token, and encrypted or --plain
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8900")]
    pub(crate) listen: String,
    /// A file with the token that has to be given as the password, readable by its owner only;
    /// else it may stand in PLIMSOLL_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The chain of certificates to serve with, PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Serve beyond this host unencrypted
    #[arg(long)]
    pub(crate) plain: bool,
    /// The name by which this host is asked, beside its addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}
