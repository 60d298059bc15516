//! Asks memory for what will be read soon. Policies touch one place of a large array a request; as
//! the trace tells which, the reads of the next requests can be under way at once.

/// Has the line of `slice[at]` fetched, where there is one; reads nothing.
#[inline(always)]
pub(crate) fn fetch<T>(slice: &[T], at: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = slice.get(at as usize) {
        #[expect(unsafe_code, reason = "a hint to the processor about an address that is valid")]
        // SAFETY: a prefetch reads nothing; the address is that of an element.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}
