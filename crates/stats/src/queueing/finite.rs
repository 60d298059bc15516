//! M/M/c/K: `servers` servers and room for `room` requests in all, in service or waiting; who finds
//! none is lost.

/// The stationary queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finite {
    /// The share of arrivals that are lost.
    pub lost: f64,
    /// Mean number of requests there.
    pub present: f64,
    /// Mean number of those that wait.
    pub waiting: f64,
    /// Mean number of busy servers.
    pub busy: f64,
}

impl Finite {
    /// The queue at an offered load in erlangs; `room` of less than the servers makes the others
    /// of no use. `None` unless the load is a number of at least 0 and there is a server.
    #[must_use]
    pub fn of(offered: f64, servers: u32, room: u32) -> Option<Self> {
        if !(offered >= 0.0 && offered.is_finite()) || servers == 0 || room == 0 {
            return None;
        }
        // p_k = p_(k-1) E / min(k, c), scaled whenever it becomes great.
        let (mut weight, mut sum) = (1.0, 1.0);
        let (mut present, mut waiting, mut busy) = (0.0, 0.0, 0.0);
        for k in 1..=room {
            let served = f64::from(k.min(servers));
            weight *= offered / served;
            sum += weight;
            present += f64::from(k) * weight;
            waiting += f64::from(k.saturating_sub(servers)) * weight;
            busy += served * weight;
            if sum > 1e200 {
                for value in [&mut weight, &mut sum, &mut present, &mut waiting, &mut busy] {
                    *value /= 1e200;
                }
            }
        }
        let [lost, present, waiting, busy] =
            [weight, present, waiting, busy].map(|value| value / sum);
        Some(Self { lost, present, waiting, busy })
    }

    /// The mean response time of those that are not lost, in mean service times (Little's law);
    /// 1 where nothing is offered.
    #[must_use]
    pub fn response(&self) -> f64 {
        if self.busy > 0.0 { self.present / self.busy } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::erlang_b;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-11, "{found} for {wanted}");
    }

    /// Load, servers, room; lost, present, waiting, response in service times, busy share: computed
    /// with 40 digits.
    #[test]
    #[expect(clippy::excessive_precision, reason = "as they were computed")]
    fn agrees_with_values_of_forty_digits() {
        for (offered, servers, room, lost, present, waiting, response, busy) in [
            (
                0.5,
                1,
                5,
                0.015_873_015_873_015_873,
                0.904_761_904_761_904_8,
                0.412_698_412_698_412_7,
                1.838_709_677_419_354_8,
                0.492_063_492_063_492_06,
            ),
            (
                1.5,
                2,
                10,
                0.016_905_586_782_670_636,
                2.892_422_819_178_16,
                1.417_781_199_352_165_8,
                1.961_441_193_772_533_2,
                0.737_320_809_912_997,
            ),
            (
                21.0,
                20,
                200,
                0.047_624_464_928_433_13,
                180.021_157_457_367_96,
                160.021_271_220_865_05,
                9.001_109_072_750_698,
                0.999_994_311_825_145_2,
            ),
            (
                100.0,
                110,
                300,
                2.942_789_690_247_265e-10,
                102.370_074_388_896_54,
                2.370_074_418_324_432,
                1.023_700_744_190_219,
                0.909_090_908_823_382_8,
            ),
            (
                1000.0,
                1000,
                1100,
                0.007_127_420_528_325_031,
                1_028.866_053_139_716_4,
                35.993_473_668_041_406,
                1.036_251_855_889_900_9,
                0.992_872_579_471_674_9,
            ),
        ] {
            let queue = Finite::of(offered, servers, room).unwrap();
            close(queue.lost, lost);
            close(queue.present, present);
            close(queue.waiting, waiting);
            close(queue.response(), response);
            close(queue.busy / f64::from(servers), busy);
        }
    }

    #[test]
    fn has_no_answer_outside_its_domain() {
        assert!(Finite::of(f64::NAN, 1, 1).is_none() && Finite::of(-1.0, 1, 1).is_none());
        assert!(Finite::of(1.0, 0, 1).is_none() && Finite::of(1.0, 1, 0).is_none());
        let idle = Finite::of(0.0, 3, 9).unwrap();
        assert!(idle.lost.abs() < 1e-300 && (idle.response() - 1.0).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn without_room_to_wait_it_is_erlangs_loss(
            offered in 0.01f64..300.0,
            servers in 1u32..400,
        ) {
            let queue = Finite::of(offered, servers, servers).unwrap();
            let lost = erlang_b(offered, servers);
            prop_assert!((queue.lost - lost).abs() <= 1e-12 + 1e-9 * lost);
            prop_assert!(queue.waiting.abs() < 1e-9 && (queue.response() - 1.0).abs() < 1e-9);
        }

        #[test]
        fn what_is_served_is_what_was_not_lost(
            offered in 0.01f64..300.0,
            servers in 1u32..200,
            room in 1u32..800,
        ) {
            let queue = Finite::of(offered, servers, room).unwrap();
            let served = offered * (1.0 - queue.lost);
            prop_assert!((served - queue.busy).abs() < 1e-6 * offered.max(1.0));
            let sum = queue.waiting + queue.busy;
            prop_assert!((queue.present - sum).abs() < 1e-6 * f64::from(room));
        }
    }
}
