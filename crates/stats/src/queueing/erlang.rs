//! Erlang's formulas: M/M/m/m, where who finds no server is lost, and M/M/m, where he waits.

/// Shares that differ by less than this part of themselves are the same: half an erlang makes a
/// tenth wait for two servers, in doubles a little more.
const ROUNDING: f64 = 1e-12;

/// The share of arrivals that find all `servers` busy and are lost (Erlang B), at an offered load
/// in erlangs. It holds for every law of service times.
///
/// 1 without servers; 0 without load; NaN unless the load is a number of at least 0.
#[must_use]
pub fn erlang_b(offered: f64, servers: u32) -> f64 {
    if offered.is_nan() || offered < 0.0 {
        return f64::NAN;
    }
    // The reciprocal: 1/B_k = 1 + (k / E) · 1/B_(k-1). Where it overflows, B is 0 in doubles too.
    let mut reciprocal = 1.0;
    for k in 1..=servers {
        reciprocal = 1.0 + f64::from(k) / offered * reciprocal;
        if reciprocal.is_infinite() {
            return 0.0;
        }
    }
    1.0 / reciprocal
}

/// The share of arrivals that wait (Erlang C), at an offered load in erlangs.
///
/// 1 where the load is as great as the servers are many: the queue then grows without end.
#[must_use]
pub fn erlang_c(offered: f64, servers: u32) -> f64 {
    if offered >= f64::from(servers) {
        return 1.0;
    }
    let lost = erlang_b(offered, servers);
    lost / (1.0 - offered / f64::from(servers) * (1.0 - lost))
}

/// The fewest servers that lose no more than a share of the arrivals; `None` where `most` do not.
#[must_use]
pub fn least_servers_b(offered: f64, share: f64, most: u32) -> Option<u32> {
    // One step of the recursion a server: all of them cost as much as the last alone.
    let mut reciprocal = 1.0;
    for servers in 0..=most {
        if servers > 0 {
            reciprocal = 1.0 + f64::from(servers) / offered * reciprocal;
        }
        if 1.0 / reciprocal <= share * (1.0 + ROUNDING) {
            return Some(servers);
        }
    }
    None
}

/// The fewest servers that make no more than a share of the arrivals wait; `None` where `most` do
/// not.
#[must_use]
pub fn least_servers_c(offered: f64, share: f64, most: u32) -> Option<u32> {
    let mut reciprocal = 1.0;
    for servers in 1..=most {
        reciprocal = 1.0 + f64::from(servers) / offered * reciprocal;
        let (lost, load) = (1.0 / reciprocal, offered / f64::from(servers));
        let waits = lost / (1.0 - load * (1.0 - lost));
        if load < 1.0 && waits <= share * (1.0 + ROUNDING) {
            return Some(servers);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-12, "{found} for {wanted}");
    }

    /// Computed with 40 digits, and by the incomplete gamma function as well.
    #[test]
    #[expect(clippy::excessive_precision, reason = "as they were computed")]
    fn agrees_with_values_of_forty_digits() {
        for (offered, servers, b, c) in [
            (0.01, 1, 0.009_900_990_099_009_900_990_1, 0.01),
            (0.01, 5, 8.250_415_281_243_078_474_2e-13, 8.266_949_179_602_269_371_8e-13),
            (5000.0, 5500, 1.652_702_645_384_389_837e-13, 1.817_972_909_919_824_252_1e-12),
            (5000.0, 6000, 8.295_336_851_602_932_947_7e-44, 4.977_202_110_961_759_768_6e-43),
            (21.0, 21, 0.155_484_624_908_874_153_17, 1.0),
            (21.0, 20, 0.184_111_064_753_672_337_2, 1.0),
            (10.5, 11, 0.184_722_775_033_749_168_22, f64::NAN),
        ] {
            close(erlang_b(offered, servers), b);
            if c.is_finite() {
                close(erlang_c(offered, servers), c);
            }
        }
        assert!((erlang_b(10.5, 0) - 1.0).abs() < 1e-15);
        assert!(erlang_b(0.0, 3).abs() < 1e-300 && erlang_b(0.0, 0) > 0.5);
        assert!(erlang_b(f64::NAN, 3).is_nan() && erlang_b(-1.0, 3).is_nan());
    }

    #[test]
    fn so_many_servers_are_enough() {
        for (offered, share, b, c) in [
            (0.5, 0.1, 2, 2),
            (0.5, 0.000_001, 7, 8),
            (2.0, 0.001, 8, 9),
            (10.0, 0.01, 18, 19),
            (10.5, 0.05, 15, 17),
            (20.0, 0.02, 28, 31),
        ] {
            assert_eq!(least_servers_b(offered, share, 100), Some(b), "{offered} {share}");
            assert_eq!(least_servers_c(offered, share, 100), Some(c), "{offered} {share}");
        }
        assert_eq!(least_servers_b(20.0, 0.02, 27), None);
        assert_eq!(least_servers_b(20.0, 1.0, 27), Some(0));
    }

    proptest! {
        #[test]
        fn one_more_server_loses_less_and_waiting_is_more_than_losing(
            offered in 0.001f64..500.0,
            servers in 1u32..600,
        ) {
            let (b, more) = (erlang_b(offered, servers), erlang_b(offered, servers + 1));
            let c = erlang_c(offered, servers);
            prop_assert!((0.0..=1.0).contains(&b) && more <= b);
            prop_assert!(c >= b && c <= 1.0, "{b} {c}");
        }

        /// B E is what is lost, and the rest is carried by the servers: E (1 − B) ≤ m.
        #[test]
        fn no_server_carries_more_than_it_can(offered in 0.001f64..2000.0, servers in 1u32..600) {
            let carried = offered * (1.0 - erlang_b(offered, servers));
            prop_assert!(carried <= f64::from(servers) * (1.0 + 1e-9), "{carried}");
        }
    }
}
