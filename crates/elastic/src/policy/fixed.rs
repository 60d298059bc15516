//! Always the same number of instances.

use super::{
    Beginning, Decision, Facts, Kind, MINUTE_S, Maker, Parameters, Policy, maker, parameter,
};
use crate::observation::Observation;
use plimsoll_units::parameter::Takes::Count;

pub(super) static KIND: Kind = Kind {
    name: "fixed",
    about: "always the same number of instances",
    parameters: &[parameter(
        "instances",
        Count(1, 1_000_000),
        "`start`, else the most",
        "Number of instances.",
    )],
    pace_s: MINUTE_S,
    goes_by_day: false,
    knows_future: false,
    make,
};

struct Fixed {
    instances: Option<u32>,
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let instances = parameters.whole("instances").or(facts.start);
    Some(maker(Fixed { instances }))
}

impl Policy for Fixed {
    type State = ();

    fn decide(&self, (): &mut (), seen: &Observation<'_>) -> Decision {
        let desired = self.instances.unwrap_or(seen.bounds.1);
        Decision::of(desired, format!("always {desired}"))
    }

    fn begins(&self, _: f64) -> Option<Beginning> {
        Some(self.instances.map_or(Beginning::Most, Beginning::Always))
    }

    fn range(&self) -> Option<(u32, u32)> {
        self.instances.map(|instances| (instances, instances))
    }
}
