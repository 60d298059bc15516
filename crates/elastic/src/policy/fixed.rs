//! Always the same number of instances.

use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter};
use crate::observation::Observation;
use plimsoll_units::parameter::Takes::Count;

pub(super) static KIND: Kind = Kind {
    name: "fixed",
    about: "always the same number of instances",
    parameters: &[parameter("instances", Count(1, 1_000_000), "the most", "Number of instances.")],
    knows_future: false,
    make,
};

struct Fixed {
    instances: Option<u32>,
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    Some(maker(Fixed { instances: parameters.whole("instances") }))
}

impl Policy for Fixed {
    type State = ();

    fn decide(&self, (): &mut (), seen: &Observation<'_>) -> Decision {
        let desired = self.instances.unwrap_or(seen.bounds.1);
        Decision::of(desired, format!("always {desired}"))
    }
}
