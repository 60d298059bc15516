//! A warm-up by `fill`: each URL of the list once, before the load, by users who think between
//! their requests so that there are no more a second than the plan allows. A server that is slower
//! is asked less often; no request is cut off.

use plimsoll_load::Config;
use plimsoll_runs::{Class, ErrorKind, Event};
use plimsoll_units::{show_count, show_rate};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::request::{Order, Requests};
use std::sync::Arc;

use super::fill::{Steering, pass};
use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::prepare::Prepared;

/// How long a user thinks, nanoseconds: so long that users who begin together are no crowd.
const THINK_NS: u64 = 100_000_000;

/// Asks for each URL of a list once. Returns what the run keeps of it; `None` where the user has
/// ended it.
///
/// # Errors
/// A target that cannot be reached, or that gave no correct answer.
pub(crate) fn each_once(
    prepared: &Prepared,
    rate_per_s: f64,
    seed: u64,
    control: &dyn Control,
) -> Result<Option<Event>, ExperimentError> {
    let (config, think) = config(&prepared.config, rate_per_s, seed);
    let urls = config.requests.list.len() as u64;
    control.tell(News::Says(&format!("asking for each of {} URLs once", show_count(urls))));
    let mut steering = Steering::new(control, urls, config.timeout_ns, "answered");
    let done = pass(&config, Some(urls), think, &mut steering)?;
    let counters = &done.sum.counters;
    let why = steering.gave_up.or_else(|| {
        let reasons = done.sum.reasons.first();
        let first = reasons.first().map_or_else(String::new, |reason| format!(": {}", reason.text));
        (counters.succeeded == 0 && !done.stopped)
            .then(|| format!("no URL was answered as it should be{first}"))
    });
    if let Some(why) = why {
        let why = format!("its warm-up by `fill`: {why}");
        return Err(ExperimentError::Silent { subject: prepared.subject.clone(), why });
    }
    if done.stopped {
        return Ok(None);
    }
    let failures = ErrorKind::ALL.into_iter().filter_map(|kind| {
        let failed = counters.errors_of(kind);
        (failed > 0).then(|| format!("{}: {}", kind.name(), show_count(failed)))
    });
    let failures: Vec<String> = failures.collect();
    let failed = match failures.is_empty() {
        true => "none failed".to_owned(),
        false => {
            format!("{} failed ({})", show_count(urls - counters.succeeded), failures.join(", "))
        }
    };
    let text = format!(
        "asked for each of {} URLs once, up to {}, in {:.1} s: {failed}",
        show_count(urls),
        show_rate(rate_per_s),
        done.seconds
    );
    Ok(Some(Event { at_ns: 0, class: Class::Action, kind: "warm-up".to_owned(), text }))
}

/// The settings by which each URL is asked for once, and how long users think.
fn config(of: &Config, rate_per_s: f64, seed: u64) -> (Config, Distribution) {
    let requests = Requests { list: of.requests.list.clone(), order: Order::InOrder };
    let most = f64::from(of.connections.1.max(1));
    let users = (rate_per_s * THINK_NS as f64 / 1e9).floor().clamp(1.0, most);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to a number of connections; a time above zero saturates"
    )]
    let (users, think_ns) = (users as u32, (users / rate_per_s * 1e9).ceil() as u64);
    let config = Config {
        requests: Arc::new(requests),
        sequence: None,
        names: None,
        users: None,
        checks: [].into(),
        connections: (u32::from(!of.connection_per_request), users),
        streams_per_connection: 1,
        threads: 1,
        measured_from_ns: 0,
        samples: false,
        seed,
        ..of.clone()
    };
    (config, Distribution::Constant { ns: think_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::Written;
    use proptest::prelude::*;

    fn prepared() -> Config {
        let text = "[target]\nurl = 'http://127.0.0.1:9/'\n[load]\nrate = '1/s'\nfor = '1s'\n";
        let plan = crate::plans::read(&Written::text(text, "plan.toml", &[])).unwrap();
        let place = crate::prepare::Place {
            environment: |_| None,
            here: std::path::Path::new("/"),
            now_ns: || 0,
            zone_s: |_| 0,
            key: || [0; 4],
            system: std::path::Path::new("/"),
            cores: crate::prepare::Cores { online: 1, allowed: 1 },
            version: "",
            program: std::path::Path::new("/"),
            runtime: std::path::Path::new("/"),
            is_alone: false,
            reach: crate::prepare::Reach::ANYWHERE,
        };
        crate::prepare(&plan, &place, false).unwrap().config
    }

    proptest! {
        /// Users who answer at once would ask for no more than the rate, and for no less than nine
        /// tenths of it where there are connections enough.
        #[test]
        fn no_more_than_the_rate_is_asked_for(
            rate in 0.1_f64..1e5,
            connections in 1_u32..10_000,
        ) {
            let of = Config { connections: (connections, connections), ..prepared() };
            let (config, think) = config(&of, rate, 1);
            let users = f64::from(config.connections.1);
            prop_assert!((1.0..=f64::from(connections)).contains(&users));
            let most = users / think.mean();
            prop_assert!(most <= rate * 1.0001, "{most}");
            prop_assert!(most >= rate * 0.99, "{most}");
        }
    }
}
