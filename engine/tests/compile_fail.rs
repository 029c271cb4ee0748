//! Closures that capture something do not compile, and the message names the way out.
//!
//! What refuses them is a constant that is evaluated when the operation is instantiated, which only a
//! full build does; the case that passes makes trybuild do one.

#[test]
fn capturing_closures_are_refused_with_the_way_out() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_fail/state_handed_over.rs");
    for operation in ["map", "filter", "reduce_by_key"] {
        cases.compile_fail(format!("tests/compile_fail/{operation}.rs"));
    }
}
