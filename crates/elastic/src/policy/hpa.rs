//! [`super::target`] with the defaults of Kubernetes: how it scales pods horizontally where
//! `behavior` says nothing (Kubernetes documentation, *Horizontal Pod Autoscaling*, "Default
//! behavior"; the target of 80% is that of `autoscaling/v1`). It decides every 15 s there:
//! `[pool] decide_every`.

use super::target::{Defaults, parameters, tracking};
use super::{Facts, Kind, Maker, Parameters};

pub(super) static KIND: Kind = Kind {
    name: "hpa",
    about: "`target` with the defaults of Kubernetes, its limits of change among them",
    parameters: &parameters(&DEFAULTS),
    pace_s: 15.0,
    goes_by_day: false,
    knows_future: false,
    make,
};

const DEFAULTS: Defaults = Defaults {
    target: (80.0, "80 of cpu"),
    period_s: (15.0, "15s"),
    up: "4/15s,100%/15s",
    down: "100%/15s",
};

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    Some(tracking(parameters, &DEFAULTS))
}
