//! One server with any law of service times.

/// The mean response time of M/G/1, first come first served, in mean service times, at a load below
/// 1 (Pollaczek and Khinchine; Kleinrock, 5.6); `squared` is the squared coefficient of variation
/// of the service time. Infinite from a load of 1 on.
#[must_use]
pub fn mg1_response(load: f64, squared: f64) -> f64 {
    if load >= 1.0 {
        return f64::INFINITY;
    }
    1.0 + load * (1.0 + squared) / (2.0 * (1.0 - load))
}

/// The mean response time of M/G/1 with processor sharing, in mean service times: whatever the law
/// (Kleinrock, *Queueing Systems* II, 1976, 4.4). Infinite from a load of 1 on.
#[must_use]
pub fn mg1_sharing_response(load: f64) -> f64 {
    if load >= 1.0 { f64::INFINITY } else { 1.0 / (1.0 - load) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_times_make_half_of_the_wait_and_exponential_ones_that_of_sharing() {
        for load in [0.1, 0.5, 0.9] {
            let (constant, exponential) = (mg1_response(load, 0.0), mg1_response(load, 1.0));
            assert!(((exponential - 1.0) / (constant - 1.0) - 2.0).abs() < 1e-12);
            assert!((exponential - mg1_sharing_response(load)).abs() < 1e-12);
        }
        assert!(mg1_response(1.0, 1.0).is_infinite() && mg1_sharing_response(1.2).is_infinite());
    }
}
