//! Child processes: a test binary runs itself again, to be killed or to share a directory.

use std::process::{Command, Stdio};

/// Names the role a child plays; unset in the test run itself.
pub const ROLE: &str = "MILLSTREAM_TEST_ROLE";

/// The role of this process, if a test has started it.
#[must_use]
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// A command that runs the one test `test` of this binary, in which [`role`] is `role`. Its standard
/// output is a pipe.
///
/// # Errors
/// If this process's own binary cannot be found.
pub fn command(test: &str, role: &str) -> Result<Command, std::io::Error> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).stdout(Stdio::piped());
    Ok(command)
}
