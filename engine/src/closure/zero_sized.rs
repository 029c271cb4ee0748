//! Zero-sized closures: the compile-time check, and making a value of such a type out of nothing.

/// Refuses, when the calling function is compiled, a closure that captures something. `$with` names
/// the variant of the operation that takes state openly.
macro_rules! assert_zero_sized {
    ($closure:ty, $with:literal) => {
        const {
            assert!(
                size_of::<$closure>() == 0,
                concat!(
                    "this closure captures variables (or is a function pointer), so it cannot be sent to an \
                     executor. Hand the state over openly: use `",
                    $with,
                    "(state, |state, ..| ..)`, where `state` is a value, a `Broadcast` or an `Accumulator`"
                )
            )
        }
    };
}
pub(crate) use assert_zero_sized;

/// Makes a value of the zero-sized type `F`.
///
/// Callers have been handed a value of `F` by the user, in this process or in the one that built the
/// plan; `F: Copy` says that more of them may exist.
#[expect(
    unsafe_code,
    reason = "closures are sent by code identity and have to be made again there"
)]
pub(crate) fn conjure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "only a zero-sized closure can be made from its type") };
    // SAFETY: `F` has no bytes, so that a dangling, aligned pointer may be read. `F` is inhabited and
    // may be duplicated, since the user has handed a value of it to the operation and it is `Copy`.
    unsafe { std::ptr::NonNull::<F>::dangling().read() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_conjured_closure_is_the_closure() {
        fn through<F: Fn(i32) -> i32 + Copy>(_: F) -> i32 {
            super::conjure::<F>()(20)
        }
        assert_eq!(through(|x| x * 2 + 2), 42);
    }
}
