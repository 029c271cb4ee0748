//! The allocator of every program that links the engine, unless the feature is turned off: mimalloc
//! under the counter that tells each task its live bytes.

use std::sync::atomic::{AtomicBool, Ordering};

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

/// What mimalloc waits by itself.
const PURGE_DELAY_AMPLE_MS: std::ffi::c_long = 1000;

/// Whether a limit is to be held closely, and whether memory is given back soon now.
static CLOSE: AtomicBool = AtomicBool::new(false);
static SOON: AtomicBool = AtomicBool::new(false);

/// A memory limit was asked for: what is freed goes back soon whenever memory is not plentiful. An
/// environment variable of the user's (`MIMALLOC_PURGE_DELAY`) goes before it. Nor are there huge pages then: one is
/// resident whole as soon as a byte of it is used.
pub(crate) fn hold_limit() {
    // Where the kernel cannot do that there are no huge pages.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        CLOSE.store(true, Ordering::Relaxed);
        give_back(true);
    }
}

/// To be told, at times, whether much of the limit is in use. Where it is not, giving back every buffer
/// between two uses would cost more than its work: the system clears each page it hands out.
pub(crate) fn memory_is_short(short: bool) {
    if CLOSE.load(Ordering::Relaxed) && SOON.load(Ordering::Relaxed) != short {
        give_back(short);
    }
}

#[expect(unsafe_code, reason = "the allocator's options have a C interface only")]
fn give_back(soon: bool) {
    SOON.store(soon, Ordering::Relaxed);
    let delay = if soon { PURGE_DELAY_MS } else { PURGE_DELAY_AMPLE_MS };
    // SAFETY: sets one integer in mimalloc's table of options, which it reads atomically; the option's
    // index is within that table.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, delay) };
}
