//! Asks memory for what will be read soon, and goes on: what 100,000 caches fill is far from the
//! processor, and what it waits for one after the other could have come at once.

/// Has the line of memory fetched where this begins; reads nothing.
#[inline(always)]
pub(crate) fn fetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "a hint to the processor about an address that is valid")]
    // SAFETY: a prefetch reads nothing; the address is that of a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Has all lines of a text fetched.
#[inline(always)]
pub(crate) fn fetch_all(text: &[u8]) {
    text.iter().step_by(64).for_each(fetch);
    text.last().into_iter().for_each(fetch);
}
