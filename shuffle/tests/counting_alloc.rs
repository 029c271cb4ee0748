//! The counting allocator, installed over the system's in this test program.

use std::alloc::{Layout, System, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::{Mutex, mpsc};
use std::thread;

use millstream_shuffle::budget::alloc::{
    CountingAlloc, is_counting, process_live_bytes, thread_live_bytes,
};

#[global_allocator]
static ALLOCATOR: CountingAlloc<System> = CountingAlloc::new(System);

const MIB: i64 = 1 << 20;

/// Held by the tests that look at the whole process; the others move far less than a MiB.
static WHOLE_PROCESS: Mutex<()> = Mutex::new(());

/// What `work` leaves live on this thread.
fn grown<T>(work: impl FnOnce() -> T) -> (i64, T) {
    let before = thread_live_bytes();
    let result = black_box(work());
    (thread_live_bytes() - before, result)
}

#[test]
fn it_knows_that_it_counts() {
    assert!(is_counting());
}

#[test]
fn allocations_are_counted_to_the_byte() {
    let (live, buffer) = grown(|| Vec::<u8>::with_capacity(1000));
    assert_eq!(live, 1000);
    assert_eq!(grown(|| drop(buffer)).0, -1000);
}

#[test]
fn growing_in_place_or_moving_counts_the_difference() {
    let (live, ()) = grown(|| {
        let mut buffer = Vec::<u8>::with_capacity(10);
        buffer.resize(10, 1);
        let (grown_by, ()) = grown(|| buffer.reserve_exact(100_000));
        assert_eq!(grown_by, 100_000);
        let (shrunk_by, ()) = grown(|| buffer.shrink_to_fit());
        assert_eq!(shrunk_by, -(100_010 - 10));
    });
    assert_eq!(live, 0);
}

#[test]
#[expect(unsafe_code, reason = "calls the allocator itself")]
fn zeroed_memory_is_counted_and_zero() {
    let layout = Layout::from_size_align(4096, 64).unwrap();
    // SAFETY: the layout is not empty.
    let (live, pointer) = grown(|| unsafe { alloc_zeroed(layout) });
    assert_eq!(live, 4096);
    // SAFETY: the pointer is to 4096 zeroed bytes.
    let bytes = unsafe { std::slice::from_raw_parts(pointer, 4096) };
    assert!(bytes.iter().all(|byte| *byte == 0));
    // SAFETY: allocated above with this layout, and not used again.
    assert_eq!(grown(|| unsafe { dealloc(pointer, layout) }).0, -4096);
}

#[test]
fn another_thread_frees_at_its_own_account() {
    let (live, buffer) = grown(|| Vec::<u8>::with_capacity(1000));
    assert_eq!(live, 1000);
    let before = thread_live_bytes();
    let there = thread::scope(|scope| scope.spawn(|| grown(|| drop(buffer)).0).join().unwrap());
    assert_eq!(there, -1000);
    // The spawn itself allocates a little here, but nothing like what the other thread freed.
    assert!(thread_live_bytes() - before > -500);
}

#[test]
fn the_process_total_sees_every_thread() {
    let _alone = WHOLE_PROCESS.lock();
    let (filled, wait_filled) = mpsc::channel();
    let (release, wait_release) = mpsc::channel::<()>();
    let before = process_live_bytes();
    let holder = thread::spawn(move || {
        let buffer = black_box(vec![1_u8; 64 << 20]);
        filled.send(()).unwrap();
        wait_release.recv().unwrap();
        drop(buffer);
    });
    wait_filled.recv().unwrap();
    assert!((process_live_bytes() - before - 64 * MIB).abs() < MIB);
    release.send(()).unwrap();
    holder.join().unwrap();
    assert!((process_live_bytes() - before).abs() < MIB);
}

#[test]
fn small_allocations_reach_the_total_in_batches() {
    let _alone = WHOLE_PROCESS.lock();
    let before = process_live_bytes();
    let boxes: Vec<_> = (0..100_000_u64).map(Box::new).collect();
    let expected = 100_000 * (8 + 8);
    assert!((process_live_bytes() - before - expected).abs() < MIB / 2);
    drop(black_box(boxes));
    assert!((process_live_bytes() - before).abs() < MIB / 2);
}

/// Frees and allocates while its thread is torn down.
struct AllocatesOnDrop(Vec<u8>);

impl Drop for AllocatesOnDrop {
    fn drop(&mut self) {
        let (live, ()) = grown(|| self.0 = vec![1; 2 * self.0.len()]);
        assert_eq!(live, 1000);
    }
}

thread_local! {
    static LATE: RefCell<Option<AllocatesOnDrop>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_may_allocate_while_it_is_torn_down() {
    let worker = thread::spawn(|| {
        LATE.with(|late| *late.borrow_mut() = Some(AllocatesOnDrop(vec![1; 1000])));
    });
    worker.join().unwrap();
}
