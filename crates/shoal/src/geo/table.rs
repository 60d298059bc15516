//! Where IPv4 addresses are, for look-ups: a table that is made of a database when it is opened.
//!
//! A database's own tree takes a step for each bit of a network, and a record points to its keys:
//! some twenty reads, each of which waits for the one before, of memory that 100,000 caches have
//! pushed out since. Here it is three: where the ranges of the first 16 bits begin, the range
//! among them (as in P. Gupta, S. Lin, N. McKeown, "Routing lookups in hardware at memory access
//! speeds", INFOCOM 1998, but with ranges in the second step), its spot.

use std::net::Ipv4Addr;

use indexmap::IndexMap;

use super::Spot;

/// The spots of all addresses.
pub(super) struct Table {
    /// Where the ranges of each /16 begin, and where those of the last end.
    firsts: Box<[u32]>,
    /// Ascending; the first of a /16 begins with it.
    ranges: Box<[Range]>,
    /// Each once; the first is that of addresses without one.
    spots: Box<[Option<Spot>]>,
}

/// From this address of its /16 to the next range's: the number of its spot.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: u16,
    spot: u32,
}

impl Table {
    /// Where an address is.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half of an address")]
    pub(super) fn spot(&self, address: Ipv4Addr) -> Option<Spot> {
        let bits = address.to_bits();
        let (high, low) = ((bits >> 16) as usize, bits as u16);
        let ranges = &self.ranges[self.firsts[high] as usize..self.firsts[high + 1] as usize];
        let after = ranges.partition_point(|range| range.low <= low);
        self.spots[ranges[after - 1].spot as usize]
    }
}

/// Makes a table of networks, told in ascending order.
#[derive(Default)]
pub(super) struct Maker {
    firsts: Vec<u32>,
    ranges: Vec<Range>,
    spots: Vec<Option<Spot>>,
    numbers: IndexMap<[u64; 3], u32>,
    /// The first address that nothing was told of.
    next: u64,
}

impl Maker {
    pub(super) fn new() -> Self {
        Self { spots: vec![None], ..Self::default() }
    }

    /// The number of a spot.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than networks")]
    pub(super) fn number(&mut self, spot: Option<Spot>) -> u32 {
        let Some(Spot { latitude, longitude, country }) = spot else { return 0 };
        let country = country.map_or(0, |[a, b]| u64::from(a) << 8 | u64::from(b));
        let key = [latitude.to_bits(), longitude.to_bits(), country];
        *self.numbers.entry(key).or_insert_with(|| {
            self.spots.push(spot);
            self.spots.len() as u32 - 1
        })
    }

    /// Adds the network of so many bits at an address, whose addresses have the spot of a number.
    /// False if it begins before the end of the one before.
    pub(super) fn add(&mut self, network: Ipv4Addr, bits: u8, number: u32) -> bool {
        let first = u64::from(network.to_bits());
        if first < self.next || bits > 32 {
            return false;
        }
        self.fill(first, 0);
        self.fill(first + (1 << (32 - bits)), number);
        true
    }

    /// Up to an address, all that was not told of has a spot.
    #[expect(clippy::cast_possible_truncation, reason = "parts of an address, and fewer than 2³²")]
    fn fill(&mut self, end: u64, spot: u32) {
        while self.next < end {
            let low = self.next as u16;
            if low == 0 {
                self.firsts.push(self.ranges.len() as u32);
            }
            if low == 0 || self.ranges.last().is_none_or(|range| range.spot != spot) {
                self.ranges.push(Range { low, spot });
            }
            let next_high = (self.next | 0xffff) + 1;
            self.next = end.min(next_high);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2³²")]
    pub(super) fn finish(mut self) -> Table {
        self.fill(1 << 32, 0);
        self.firsts.push(self.ranges.len() as u32);
        Table { firsts: self.firsts.into(), ranges: self.ranges.into(), spots: self.spots.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(latitude: f64) -> Option<Spot> {
        Some(Spot { latitude, longitude: 2.0 * latitude, country: Some(*b"CH") })
    }

    fn table(networks: &[([u8; 4], u8, Option<Spot>)]) -> Table {
        let mut maker = Maker::new();
        for &(network, bits, spot) in networks {
            let number = maker.number(spot);
            assert!(maker.add(network.into(), bits, number));
        }
        maker.finish()
    }

    #[test]
    fn addresses_of_no_network_have_no_spot() {
        let table = table(&[]);
        for address in [[0, 0, 0, 0], [10, 1, 2, 3], [255, 255, 255, 255]] {
            assert_eq!(table.spot(address.into()), None);
        }
    }

    #[test]
    fn a_network_is_where_it_is_from_its_first_address_to_its_last() {
        let table = table(&[
            ([10, 0, 0, 0], 8, spot(1.0)),
            ([11, 0, 4, 0], 22, spot(2.0)),
            ([11, 0, 8, 7], 32, spot(1.0)),
            ([255, 255, 255, 255], 32, spot(3.0)),
        ]);
        let wanted = [
            ([9, 255, 255, 255], None),
            ([10, 0, 0, 0], spot(1.0)),
            ([10, 200, 0, 1], spot(1.0)),
            ([10, 255, 255, 255], spot(1.0)),
            ([11, 0, 0, 0], None),
            ([11, 0, 3, 255], None),
            ([11, 0, 4, 0], spot(2.0)),
            ([11, 0, 7, 255], spot(2.0)),
            ([11, 0, 8, 0], None),
            ([11, 0, 8, 7], spot(1.0)),
            ([11, 0, 8, 8], None),
            ([255, 255, 255, 254], None),
            ([255, 255, 255, 255], spot(3.0)),
        ];
        for (address, wanted) in wanted {
            assert_eq!(table.spot(address.into()), wanted, "{address:?}");
        }
    }

    #[test]
    fn networks_beside_each_other_with_one_spot_are_one_range() {
        let table = table(&[([1, 2, 0, 0], 24, spot(1.0)), ([1, 2, 1, 0], 24, spot(1.0))]);
        // One for each /16, and in this one the rest of it.
        assert_eq!(table.ranges.len(), 65_536 + 1);
        assert_eq!(table.spots.len(), 2);
    }

    #[test]
    fn a_network_within_the_one_before_is_refused() {
        let mut maker = Maker::new();
        let number = maker.number(spot(1.0));
        assert!(maker.add([10, 0, 0, 0].into(), 8, number));
        assert!(!maker.add([10, 1, 0, 0].into(), 16, number));
        assert!(!maker.add([12, 0, 0, 0].into(), 33, number));
    }
}
