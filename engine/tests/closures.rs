//! What the compiler says about closures: those without state compile, and those that capture are
//! refused with a message that names the variant to use.

#[test]
fn capturing_closures_are_refused_with_the_way_out() {
    let cases = trybuild::TestCases::new();
    // A case that compiles makes the others be compiled to the end, too: the check is made when the
    // closure's code is generated, which a mere `cargo check` never does.
    cases.pass("tests/closures/stateless.rs");
    cases.compile_fail("tests/closures/captures_*.rs");
}
