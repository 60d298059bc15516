//! [`super::target`] with the defaults of Kubernetes: how it scales pods horizontally where
//! `behavior` says nothing (Kubernetes documentation, *Horizontal Pod Autoscaling*, "Default
//! behavior"; the target of 80% is that of `autoscaling/v1`). It decides every 15 s there:
//! `[pool] decide_every`.

use super::target::{Defaults, tracking};
use super::{Facts, Kind, Maker, Parameters, parameter, tried};

pub(super) static KIND: Kind = Kind {
    name: "hpa",
    about: "`target` with the defaults of Kubernetes, its limits of change among them",
    parameters: &[
        parameter(
            "metric",
            "cpu, rate, response, concurrency or queue",
            "cpu",
            "The metric that is kept near its target.",
        ),
        tried(
            parameter("target", "number", "80 of cpu", "The metric's target for each instance."),
            &["50", "60", "70", "80", "90"],
        ),
        parameter(
            "tolerance",
            "number",
            "0.1",
            "Nothing is done where the metric is off by no more than this share.",
        ),
        parameter("up_tolerance", "number", "as `tolerance`", "The same on the way up alone."),
        parameter("down_tolerance", "number", "as `tolerance`", "The same on the way down alone."),
        parameter("period", "duration", "15s", "The metric is its mean over this time."),
        parameter(
            "up_window",
            "duration",
            "0s",
            "Scale-up uses the lowest recommendation of this time.",
        ),
        tried(
            parameter(
                "down_window",
                "duration",
                "5m",
                "Scale-down uses the highest recommendation of this time.",
            ),
            &["1m", "5m", "10m"],
        ),
        parameter(
            "up",
            "COUNT/PERIOD or SHARE/PERIOD, …",
            "4/15s,100%/15s",
            "The most instances added in a period.",
        ),
        parameter(
            "down",
            "COUNT/PERIOD or SHARE/PERIOD, …",
            "100%/15s",
            "The most instances removed in a period.",
        ),
        parameter("up_select", "max, min or off", "max", "Which limit of `up` counts."),
        parameter("down_select", "max, min or off", "max", "Which limit of `down` counts."),
    ],
    knows_future: false,
    make,
};

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    let defaults =
        Defaults { target: 80.0, period_s: 15.0, up: "4/15s,100%/15s", down: "100%/15s" };
    Some(tracking(parameters, &defaults))
}
