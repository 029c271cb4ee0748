//! Panics of closures: told once, by the job that fails of them, instead of by each attempt.

use std::cell::RefCell;
use std::env;
use std::panic;
use std::sync::Once;

use super::run::in_task;

thread_local! {
    static LINE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on, a panic inside a task leaves its line of code for the failure's message and prints
/// nothing, unless `RUST_BACKTRACE` asks for more. Other panics go to the hook that was there before.
pub(crate) fn catch_lines() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        let verbose = env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        panic::set_hook(Box::new(move |info| {
            if in_task() {
                let line = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
                LINE.set(line);
            }
            if verbose || !in_task() {
                before(info);
            }
        }));
    });
}

/// The line of code of the panic that has just unwound this thread.
pub(crate) fn take_line() -> Option<String> {
    LINE.take()
}

#[cfg(test)]
mod tests {
    use crate::Context;

    #[test]
    fn the_error_says_which_record_met_which_line() {
        let context = Context::local("panics").unwrap();
        let rows = context.range(0..100, 2).map(|n| if n == 77 { panic!("no {n}") } else { n });
        let error = rows.collect().unwrap_err().to_string();
        for part in ["partition 1", "record 27", "panic in `map`: no 77", "panics.rs:"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
