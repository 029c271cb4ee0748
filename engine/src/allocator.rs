//! The allocator of every program that links the engine, unless the feature is turned off: mimalloc
//! under the counter that tells each task its live bytes.

use millstream_shuffle::budget::alloc::CountingAlloc;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: CountingAlloc<MiMalloc> = CountingAlloc::new(MiMalloc);

/// How long freed memory may wait for its next use before it goes back to the operating system. A memory
/// limit is about resident memory: with mimalloc's own second, what one task has freed would still be
/// there beside what the next allocates.
const PURGE_DELAY_MS: std::ffi::c_long = 10;

/// `mi_option_purge_delay` of mimalloc 3, which its Rust binding does not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Makes the allocator give freed memory back soon. An environment variable of the user's
/// (`MIMALLOC_PURGE_DELAY`) goes before it.
#[expect(unsafe_code, reason = "the allocator's options have a C interface only")]
pub(crate) fn give_back_soon() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        // SAFETY: sets one integer in mimalloc's table of options, which it reads atomically; the
        // option's index is within that table.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, PURGE_DELAY_MS) };
    }
}
