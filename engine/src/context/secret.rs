//! The secret that the processes of an application share.

use ring::rand::{SecureRandom, SystemRandom};

use crate::error::Error;

/// A secret for the executors that a driver starts itself, and a number for their application.
pub(super) fn random_secret() -> Result<(String, u64), Error> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_numbers())?;
    let secret = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((secret, random_number()?))
}

/// A number that nobody else has.
pub(super) fn random_number() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_numbers())?;
    Ok(u64::from_le_bytes(bytes))
}

fn no_numbers() -> Error {
    let source = std::io::Error::other("the system gives no random numbers");
    Error::System { what: "making a secret", source }
}

/// The secret as the environment has it.
///
/// # Errors
/// If it has none, or names a file that cannot be read.
pub(crate) fn secret_of_environment() -> Result<String, Error> {
    if let Some(path) = std::env::var_os("MILLSTREAM_SECRET_FILE") {
        let secret = std::fs::read_to_string(&path).map_err(|error| Error::Setting {
            setting: "MILLSTREAM_SECRET_FILE",
            value: path.to_string_lossy().into_owned(),
            why: format!("cannot be read: {error}; name a file that holds the secret"),
        })?;
        return Ok(secret.trim_end().to_owned());
    }
    std::env::var("MILLSTREAM_SECRET").map_err(|_| Error::Setting {
        setting: "secret",
        value: String::new(),
        why: "a cluster needs one: set MILLSTREAM_SECRET_FILE to a file that only you can read, for driver \
              and executors alike"
            .to_owned(),
    })
}

/// # Errors
/// If somebody could find the secret by trying.
pub(crate) fn check_secret(secret: &str) -> Result<(), Error> {
    match secret.len() {
        16.. => Ok(()),
        len => Err(Error::Setting {
            setting: "secret",
            value: format!("{len} characters"),
            why: "takes at least 16".to_owned(),
        }),
    }
}
