//! How registries are reached: encrypted, where their URLs say so.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use plimsoll_shoal::http1::{Dial, Plain, Url};

use crate::terminal::error::UsageError;

/// The way to these registries; `ca` is a file of roots to trust for `https`, else the host's are.
pub(super) fn dial(ca: Option<&Path>, servers: &[Url]) -> Result<Arc<dyn Dial>> {
    if servers.iter().any(|server| server.secure) {
        return encrypted(ca);
    }
    match ca {
        None => Ok(Arc::new(Plain)),
        Some(_) => Err(UsageError("--ca says nothing without https://".to_owned()).into()),
    }
}

#[cfg(feature = "tls")]
fn encrypted(ca: Option<&Path>) -> Result<Arc<dyn Dial>> {
    let tls = plimsoll_shoal::tls::Tls::new(ca, None);
    Ok(Arc::new(tls.map_err(|error| super::wrong("--ca", error))?))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: Option<&Path>) -> Result<Arc<dyn Dial>> {
    let text = "https: left out of this program; build it with the feature `tls`";
    Err(UsageError(text.to_owned()).into())
}
