//! Forward proxies on the way to the target: what they are asked for, and by whom.

use super::Place;
use super::requests::login;
use crate::error::ExperimentError;
use plimsoll_load::way::Proxies;
use plimsoll_plan::Target;
use plimsoll_workload::request::Url;

/// The proxies of a target; none where it is gone to directly. They are asked for each URL where
/// the target's is plain, and for a tunnel where it is not.
pub(super) fn proxies(
    target: &Target,
    url: &Url,
    place: &Place<'_>,
) -> Result<Option<Proxies>, ExperimentError> {
    let Some(first) = target.through.first() else { return Ok(None) };
    let credentials = match &target.through_env {
        Some(name) => Some(login(name, place)?),
        None => first.credentials.clone(),
    };
    let header = credentials.as_ref().and_then(|credentials| {
        let (_, value) = credentials.header();
        Some(String::from_utf8_lossy(value.as_static()?).into_owned())
    });
    Ok(Some(Proxies {
        // A tunnel is asked for by host and port, though the port be the scheme's own.
        target: format!("{}:{}", plimsoll_net::url::bracketed(&url.host), url.port),
        authorization: header,
        tunnels: url.scheme.is_secure,
        user_agent: format!("plimsoll/{}", place.version),
    }))
}
