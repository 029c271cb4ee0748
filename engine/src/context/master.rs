//! The `master` string: where tasks run.

use std::str::FromStr;

use crate::error::Error;

/// Where tasks run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Master {
    /// On this many threads of this process.
    Local { slots: u32 },
}

impl FromStr for Master {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Setting {
            setting: "master",
            value: text.to_owned(),
            why: why.to_owned(),
        };
        const FORMS: &str = "use local[N] for N threads, or local[*] for one a processor";
        match text {
            "local" => return Ok(Self::Local { slots: 1 }),
            "local[*]" => return Ok(Self::Local { slots: processors() }),
            _ => {}
        }
        if text.starts_with("local-cluster[") || text.starts_with("cluster://") {
            return Err(wrong(&format!("remote executors are not available yet; {FORMS}")));
        }
        let count = text.strip_prefix("local[").and_then(|rest| rest.strip_suffix(']'));
        match count.map(u32::from_str) {
            Some(Ok(slots @ 1..=4096)) => Ok(Self::Local { slots }),
            Some(_) => Err(wrong(&format!("N is a number from 1 to 4096; {FORMS}"))),
            None => Err(wrong(FORMS)),
        }
    }
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_parse() {
        assert_eq!("local".parse::<Master>().unwrap(), Master::Local { slots: 1 });
        assert_eq!("local[3]".parse::<Master>().unwrap(), Master::Local { slots: 3 });
        assert!(matches!("local[*]".parse::<Master>().unwrap(), Master::Local { slots: 1.. }));
    }

    #[test]
    fn a_wrong_master_is_told_the_forms() {
        for wrong in ["local[0]", "local[x]", "yarn", "local-cluster[2,1,1g]"] {
            let error = wrong.parse::<Master>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("local[N]"), "{error}");
        }
    }
}
