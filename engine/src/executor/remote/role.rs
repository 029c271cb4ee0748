//! What makes a process an executor: one variable of its environment.

use std::io::BufRead;
use std::path::PathBuf;

use millstream_shuffle::block::Codec;
use millstream_shuffle::budget::detect_limit;
use millstream_shuffle::net::channel::{Access, Secret, TlsFiles};
use millstream_shuffle::store::DirSpec;
use serde::{Deserialize, Serialize};

use crate::closure::build_id;
use crate::context::{SLOTS_MAX, check_secret, parse_size, secret_of_environment};
use crate::error::Error;
use crate::scheduler::{ExecutorId, Incarnation};

/// What an executor is told when it is started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Role {
    /// Where its driver listens.
    pub(crate) driver: String,
    /// Its name, if the driver has started it.
    pub(crate) executor: Option<ExecutorId>,
    pub(crate) incarnation: Incarnation,
    pub(crate) slots: u32,
    pub(crate) memory_bytes: u64,
    /// Local directories with their quotas.
    pub(crate) dirs: Vec<DirSpec>,
    pub(crate) codec: Codec,
    pub(crate) application: u64,
    pub(crate) tls: Option<TlsFiles>,
    /// It lives as long as its driver: it comes to its end, and not back, when the connection does.
    pub(crate) with_driver: bool,
    /// The shuffle service of its machine, if it has one.
    pub(crate) shuffle_service: Option<String>,
    /// Whether this executable is the driver's, and has the code of its program.
    pub(crate) has_program: bool,
}

impl Role {
    /// The variable that holds the role.
    pub(crate) const VARIABLE: &str = "MILLSTREAM_EXECUTOR";

    /// The role as the variable holds it.
    ///
    /// # Errors
    /// If a path in it is not UTF-8.
    pub(crate) fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// The role of this process, if it has one: as a driver that starts it says, or as the variables
    /// of somebody who starts it by hand; see [`become_executor_if_asked`](crate::become_executor_if_asked).
    ///
    /// # Errors
    /// If a variable does not make sense.
    pub(crate) fn of_this_process() -> Result<Option<Self>, Error> {
        if let Some(role) = Self::handed_over()? {
            return Ok(Some(role));
        }
        variable("MILLSTREAM_DRIVER").map(Self::of_environment).transpose()
    }

    /// The role that a driver, or an earlier life of this executor, has handed over.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn handed_over() -> Result<Option<Self>, Error> {
        let Some(text) = variable(Self::VARIABLE) else { return Ok(None) };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| wrong(Self::VARIABLE, &text, &format!("not a role: {error}")))
    }

    /// The role of an executor of this driver that somebody starts by hand, as the environment says.
    ///
    /// # Errors
    /// If a variable does not make sense.
    pub(crate) fn of_environment(driver: String) -> Result<Self, Error> {
        let slots = match variable("MILLSTREAM_SLOTS") {
            None => std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            Some(text) => match text.parse() {
                Ok(slots @ 1..=SLOTS_MAX) => slots,
                _ => {
                    let why = format!("a number from 1 to {SLOTS_MAX}");
                    return Err(wrong("MILLSTREAM_SLOTS", &text, &why));
                }
            },
        };
        let memory_bytes = match variable("MILLSTREAM_MEMORY") {
            None => detect_limit(),
            Some(text) => parse_size(&text)
                .map_err(|error| wrong("MILLSTREAM_MEMORY", &text, &error.to_string()))?,
        };
        let dirs = variable("MILLSTREAM_LOCAL_DIRS").map_or_else(
            || vec![DirSpec { path: std::env::temp_dir(), quota_bytes: None }],
            |text| {
                let spec = |path| DirSpec { path, quota_bytes: None };
                std::env::split_paths(&text).map(spec).collect()
            },
        );
        Ok(Self {
            driver,
            executor: None,
            incarnation: Incarnation(1),
            slots,
            memory_bytes,
            dirs,
            codec: Codec::default(),
            application: 0,
            tls: tls_of_environment(),
            with_driver: false,
            shuffle_service: variable("MILLSTREAM_SHUFFLE_SERVICE"),
            has_program: true,
        })
    }

    /// What lets this process in. A driver that starts it hands over the secret in the first line of
    /// its standard input, which other users of the machine cannot see.
    pub(super) fn access(&self) -> Result<Access, Error> {
        let secret = match self.with_driver {
            true => {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map_err(Error::system(
                    "reading the application's secret from standard input",
                ))?;
                line.trim_end().to_owned()
            }
            false => secret_of_environment()?,
        };
        check_secret(&secret)?;
        let build = build_id().map_err(Error::system("reading this program's executable"))?;
        let mut access = Access::new(Secret::new(secret), self.application, build);
        if !self.has_program {
            access = access.without_program();
        }
        Ok(match &self.tls {
            Some(files) => access.with_tls(files)?,
            None => access,
        })
    }
}

/// The files of TLS; none if the variables do not name all of them.
pub(crate) fn tls_of_environment() -> Option<TlsFiles> {
    let path = |name| variable(name).map(PathBuf::from);
    Some(TlsFiles {
        cert: path("MILLSTREAM_TLS_CERT")?,
        key: path("MILLSTREAM_TLS_KEY")?,
        ca: path("MILLSTREAM_TLS_CA")?,
        name: variable("MILLSTREAM_TLS_NAME")?,
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn wrong(setting: &'static str, value: &str, why: &str) -> Error {
    Error::Setting { setting, value: value.to_owned(), why: why.to_owned() }
}
