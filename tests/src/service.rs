//! A shuffle service of a test, in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A shuffle service, killed when dropped.
pub struct Service {
    child: Child,
    /// Where it serves.
    pub addr: String,
}

impl Service {
    /// Starts one for a local directory with the tool, of which the path is given.
    ///
    /// # Panics
    /// If it does not come up.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the verdict of a test")]
    pub fn start(tool: &str, dir: &Path, secret: &str) -> Self {
        let mut command = Command::new(tool);
        command.args(["shuffle-service", "127.0.0.1:0", "--local-dir"]).arg(dir);
        command.env("MILLSTREAM_SECRET", secret).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the tool starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it serves");
        let addr = line.trim().strip_prefix("serving on ").expect("it serves").to_owned();
        Self { child, addr }
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}
