//! The counting allocator: a thin wrapper that tells each thread its live bytes, so that what user
//! closures allocate is known and not guessed. It counts sizes as requested; the slack of the
//! allocator beneath is not seen. It limits nothing.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering};

/// How far a thread's count may drift from the process-wide one before it is added there.
const DRIFT_BYTES_MAX: u64 = 64 << 10;

static FLUSHED: AtomicI64 = AtomicI64::new(0);

thread_local! {
    // Const-initialised and without a destructor: it can be used by the first allocation of a thread
    // and by the last deallocation of its teardown.
    static LOCAL: Local = const { Local { live: Cell::new(0), drift: Cell::new(0) } };
}

struct Local {
    live: Cell<i64>,
    /// The part of `live` not yet in `FLUSHED`.
    drift: Cell<i64>,
}

/// Counts what goes through `A`. Install it with `#[global_allocator]`.
#[derive(Debug, Default)]
pub struct CountingAlloc<A>(A);

impl<A> CountingAlloc<A> {
    /// Wraps `inner`.
    pub const fn new(inner: A) -> Self {
        Self(inner)
    }
}

/// Bytes allocated less bytes freed by this thread, since it began. Negative in a thread that frees
/// what others allocated.
pub fn thread_live_bytes() -> i64 {
    LOCAL.with(|local| local.live.get())
}

/// Live bytes of the process: exact for the calling thread, within 64 KiB for each other thread that
/// runs or has run.
pub fn process_live_bytes() -> i64 {
    FLUSHED.load(Ordering::Relaxed) + LOCAL.with(|local| local.drift.get())
}

/// Whether the process runs on a [`CountingAlloc`], found by trying.
pub fn is_counting() -> bool {
    let before = thread_live_bytes();
    let probe = black_box(Box::new(0_u64));
    let during = thread_live_bytes();
    drop(probe);
    during != before
}

#[inline]
fn count(delta: i64) {
    LOCAL.with(|local| {
        local.live.set(local.live.get().wrapping_add(delta));
        let drift = local.drift.get().wrapping_add(delta);
        local.drift.set(drift);
        if drift.unsigned_abs() >= DRIFT_BYTES_MAX {
            flush(local);
        }
    });
}

#[cold]
fn flush(local: &Local) {
    FLUSHED.fetch_add(local.drift.replace(0), Ordering::Relaxed);
}

/// A layout's size is at most `isize::MAX`, so that this loses nothing.
#[inline]
fn signed(bytes: usize) -> i64 {
    bytes as i64
}

#[expect(unsafe_code, reason = "a global allocator is an unsafe trait")]
// SAFETY: every call is passed to `A` unchanged and its result returned unchanged, so that `A`'s own
// guarantees hold; counting neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAlloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is `A`'s.
        let pointer = unsafe { self.0.alloc(layout) };
        if !pointer.is_null() {
            count(signed(layout.size()));
        }
        pointer
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; `pointer` came from `A`.
        unsafe { self.0.dealloc(pointer, layout) };
        count(-signed(layout.size()));
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is `A`'s.
        let pointer = unsafe { self.0.alloc_zeroed(layout) };
        if !pointer.is_null() {
            count(signed(layout.size()));
        }
        pointer
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`; `pointer` came from `A`.
        let moved = unsafe { self.0.realloc(pointer, layout, new_size) };
        if !moved.is_null() {
            count(signed(new_size) - signed(layout.size()));
        }
        moved
    }
}
