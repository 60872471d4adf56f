//! The smallest example greets once.

use crate::command::{hello, report};

#[test]
fn hello_greets_once_however_often_it_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let run = || report(&hello().current_dir(dir.path()).output().unwrap());
    assert_eq!(run(), "greeting world (attempt 1)\nHello, world!\n");
    assert_eq!(run(), "Hello, world!\n");
}
