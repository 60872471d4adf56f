//! What the attributes accept, and what they refuse with which words.

#[test]
fn programs_that_must_compile_and_run() {
    trybuild::TestCases::new().pass("tests/ui/pass/**/*.rs");
}

#[test]
fn programs_that_must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/**/*.rs");
}
