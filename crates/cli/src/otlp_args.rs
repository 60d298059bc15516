//! Where live figures are pushed to.

use crate::metrics::Receiver;
use crate::terminal::error::Result;
use clap::Args;
use std::path::PathBuf;

/// A receiver of OTLP.
#[derive(Args)]
pub(crate) struct Otlp {
    /// Push live figures each second by OTLP over HTTP to this URL; /v1/metrics is added to it
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Send the value of an environment variable as a header to --otlp, as for credentials
    #[arg(long, value_name = "NAME=VARIABLE", requires = "otlp")]
    pub(crate) otlp_header_env: Vec<String>,
    /// Trust the certificate authorities of this PEM file for --otlp, rather than the host's
    #[arg(long, value_name = "FILE", requires = "otlp")]
    pub(crate) otlp_ca: Option<PathBuf>,
}

impl Otlp {
    /// The receiver, where there is one.
    pub(crate) fn receiver(&self) -> Result<Option<Receiver>> {
        let Self { otlp, otlp_header_env, otlp_ca } = self;
        let read = |url: &String| Receiver::read(url, otlp_header_env, otlp_ca.as_deref());
        otlp.as_ref().map(read).transpose()
    }
}
