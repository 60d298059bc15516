//! The broker at which workers wait that can only call out: how it is reached, and how those are
//! called that a plan wants.

#[cfg(feature = "amqp")]
pub use there::bus;
#[cfg(feature = "amqp")]
pub(crate) use there::called;

/// The variable of the environment that holds the password for the broker.
pub const PASSWORD: &str = "PLIMSOLL_BUS_PASSWORD";

/// Whoever waits for workers.
#[cfg_attr(not(feature = "amqp"), expect(dead_code, reason = "there is nothing to wait for"))]
pub(crate) struct Waiting<'a> {
    /// Whether that is interrupted; asked several times a second.
    pub(crate) interrupted: &'a mut dyn FnMut() -> bool,
    /// Told how far it is, where that takes long.
    pub(crate) tell: &'a mut dyn FnMut(&str),
}

/// None: this build has no message brokers.
///
/// # Errors
/// That.
#[cfg(not(feature = "amqp"))]
pub(crate) fn called(
    _: &plimsoll_plan::Fleet,
    _: &str,
    _: &str,
    _: &crate::prepare::Place<'_>,
    _: Waiting<'_>,
) -> Result<Vec<plimsoll_fleet::Start>, crate::error::ExperimentError> {
    let text = "reach workers at a broker: this build has no message brokers";
    Err(crate::error::ExperimentError::Conflict(text.to_owned()))
}

#[cfg(feature = "amqp")]
mod there {
    use std::net::IpAddr;
    use std::path::Path;
    use std::sync::Arc;

    use plimsoll_fleet::Start;
    use plimsoll_fleet::bus::{Bus, Call, Keyring, Secret, Waits};
    use plimsoll_net::amqp::{Broker, BrokerError};
    use plimsoll_net::http::client::{Dial, Plain};
    use plimsoll_net::tls::Tls;
    use plimsoll_plan::Fleet as FleetPlan;
    use plimsoll_units::failure::chain;

    use super::{PASSWORD, Waiting};
    use crate::error::ExperimentError;
    use crate::prepare::Place;

    /// A worker has to come within so long after the one before.
    const WITHIN_S: u64 = 60;

    /// The broker of a URL. Beyond this host it is spoken to by TLS, unless `is_plain`.
    ///
    /// # Errors
    /// A URL that is none; certificates that cannot be read.
    pub fn bus(
        url: &str,
        ca: Option<&Path>,
        is_plain: bool,
        place: &Place<'_>,
    ) -> Result<Bus, ExperimentError> {
        let wrong = |why: String| ExperimentError::Conflict(format!("use the broker: {why}"));
        let mut broker = Broker::parse(url).map_err(|error| match error {
            // It is not repeated.
            BrokerError::Password => wrong(format!("{error}; {PASSWORD} has it instead")),
            error => wrong(format!("{url}: {error}")),
        })?;
        if let Some(password) = (place.environment)(PASSWORD) {
            // Secrets that are kept in files often end in a new line.
            broker.password = password.trim_end_matches(['\n', '\r']).to_owned();
        }
        let is_here = broker.host == "localhost"
            || broker.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !broker.secure && !is_here && !is_plain {
            return Err(wrong(format!(
                "{broker} is on another host, where everybody on the way sees what is said; write \
                 amqps://, or say that it is to be plain"
            )));
        }
        let dial: Arc<dyn Dial> = match broker.secure {
            true => Arc::new(Tls::new(ca, None).map_err(|error| wrong(chain(&error)))?),
            false if ca.is_some() => {
                return Err(wrong("certificates say nothing without amqps://".to_owned()));
            }
            false => Arc::new(Plain),
        };
        let host = std::fs::read_to_string(place.system.join("proc/sys/kernel/hostname"));
        Ok(Bus { broker, dial, name: format!("plimsoll at {}", host.unwrap_or_default().trim()) })
    }

    /// Workers of a plan that wait at its broker; they are this process's own from then on.
    /// `wants`: what they must be allowed to do.
    ///
    /// # Errors
    /// Keys that are not used; a broker that does not serve; too few workers.
    pub(crate) fn called(
        fleet: &FleetPlan,
        url: &str,
        wants: &str,
        place: &Place<'_>,
        Waiting { interrupted, tell }: Waiting<'_>,
    ) -> Result<Vec<Start>, ExperimentError> {
        let bus = bus(url, fleet.bus_ca.as_deref(), fleet.bus_plain, place)?;
        let key = |of: &Option<std::path::PathBuf>| of.clone().unwrap_or_default();
        let known = Keyring::read(&key(&fleet.known))?;
        if let Some(from) =
            fleet.from.as_deref().filter(|from| !known.names().any(|of| of == *from))
        {
            let list = key(&fleet.known);
            return Err(ExperimentError::Conflict(format!(
                "call the worker `{from}`: {} does not have it; there are {}",
                list.display(),
                known.names().collect::<Vec<_>>().join(", ")
            )));
        }
        let call = Call {
            bus,
            own: Arc::new(Secret::read(&key(&fleet.key))?),
            known,
            who: fleet.from.as_deref(),
            need: fleet.need.clone(),
            count: usize::try_from(fleet.count()).unwrap_or(usize::MAX),
            wants,
            version: place.version,
            within_s: WITHIN_S,
        };
        Ok(call.answer(&mut Waits { interrupted, tell })?)
    }
}
