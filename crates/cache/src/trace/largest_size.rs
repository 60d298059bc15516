//! The size of an object as its requests tell it.
//!
//! One rule for all formats: an object is as large as the largest size that any of its requests
//! had. Parts of it (206), answers without a body (304) and answers that broke off are smaller than
//! the object, and nothing in a log is larger. A size of zero is no size.

use super::{MAX_OBJECT_BYTES, ReadSummary, SizeTable};

/// The largest size seen of an object; the top bit says that there were two that differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LargestSize(u64);

const DIFFERS: u64 = 1 << 63;
const _: () = assert!(MAX_OBJECT_BYTES < DIFFERS);

impl LargestSize {
    /// Notes the size of one request, at most [`MAX_OBJECT_BYTES`].
    #[inline(always)]
    pub(super) fn note(&mut self, size: u64) {
        if self.0 != size {
            self.note_other(size);
        }
    }

    #[inline]
    fn note_other(&mut self, size: u64) {
        let before = self.bytes();
        if size == before || size == 0 {
            return;
        }
        let differs = if before == 0 { 0 } else { DIFFERS };
        self.0 = before.max(size) | (self.0 & DIFFERS) | differs;
    }

    #[inline]
    pub(super) fn bytes(self) -> u64 {
        self.0 & !DIFFERS
    }

    fn differs(self) -> bool {
        self.0 & DIFFERS != 0
    }
}

/// The sizes of all objects, and what is to be told of them; `None` where no object has any.
pub(super) fn table(
    seen: impl ExactSizeIterator<Item = LargestSize> + Clone,
    told: &mut ReadSummary,
) -> Option<SizeTable> {
    let (mut largest, mut without, mut differ) = (0, 0, 0);
    for seen in seen.clone() {
        largest = seen.bytes().max(largest);
        without += u64::from(seen.bytes() == 0);
        differ += u64::from(seen.differs());
    }
    if largest == 0 {
        return None;
    }
    (told.objects_without_size, told.sizes_differ) = (without, differ);
    Some(if u32::try_from(largest).is_ok() {
        #[expect(clippy::cast_possible_truncation, reason = "the largest fits")]
        SizeTable::Narrow(seen.map(|seen| seen.bytes() as u32).collect())
    } else {
        SizeTable::Wide(seen.map(LargestSize::bytes).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Format;

    fn seen(sizes: &[u64]) -> LargestSize {
        let mut seen = LargestSize::default();
        sizes.iter().for_each(|&size| seen.note(size));
        seen
    }

    #[test]
    fn the_largest_counts_and_zero_is_no_size() {
        for (sizes, bytes, differs) in [
            (&[][..], 0, false),
            (&[0, 0], 0, false),
            (&[5, 5, 0, 5], 5, false),
            (&[0, 5], 5, false),
            (&[5, 7, 7], 7, true),
            (&[7, 5, 7, 9, 9], 9, true),
        ] {
            assert_eq!((seen(sizes).bytes(), seen(sizes).differs()), (bytes, differs), "{sizes:?}");
        }
    }

    #[test]
    fn tables_are_as_narrow_as_they_may_be() {
        let mut told = ReadSummary::new(Format::Csv);
        let all = [seen(&[1, 2]), seen(&[]), seen(&[u64::from(u32::MAX)])];
        let table_of =
            |all: &[LargestSize], told: &mut ReadSummary| table(all.iter().copied(), told);
        assert_eq!(table_of(&all, &mut told), Some(SizeTable::Narrow(vec![2, 0, u32::MAX])));
        assert_eq!((told.objects_without_size, told.sizes_differ), (1, 1));
        let wide = [seen(&[1 << 32])];
        assert_eq!(table_of(&wide, &mut told), Some(SizeTable::Wide(vec![1 << 32])));
        assert_eq!(table_of(&[seen(&[0])], &mut told), None);
    }
}
