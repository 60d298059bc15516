//! How servers of HTTP are reached: encrypted, where their URLs say so.

use std::path::Path;
use std::sync::Arc;

use plimsoll_net::http::client::{Dial, Plain};
use plimsoll_net::url::Url;
#[cfg(feature = "tls")]
use plimsoll_units::failure::chain;

use crate::terminal::error::{Result, UsageError};

/// The way to these servers; `ca`, given by `flag`, is a file of roots to trust for `https`,
/// else the host's are.
pub(crate) fn dial(flag: &str, ca: Option<&Path>, servers: &[Url]) -> Result<Arc<dyn Dial>> {
    if servers.iter().any(|server| server.secure) {
        return encrypted(flag, ca);
    }
    match ca {
        None => Ok(Arc::new(Plain)),
        Some(_) => Err(UsageError(format!("{flag} says nothing without https://")).into()),
    }
}

#[cfg(feature = "tls")]
fn encrypted(flag: &str, ca: Option<&Path>) -> Result<Arc<dyn Dial>> {
    let tls = plimsoll_net::tls::Tls::new(ca, None);
    let tls = tls.map_err(|error| UsageError(format!("{flag}: {}", chain(&error))))?;
    Ok(Arc::new(tls.saying(crate::terminal::say)))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: &str, _: Option<&Path>) -> Result<Arc<dyn Dial>> {
    let text = "https: left out of this program; build it with the feature `tls`";
    Err(UsageError(text.to_owned()).into())
}
