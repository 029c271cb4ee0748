//! The `master` string: where tasks run.

use std::str::FromStr;

use super::size::parse_size;
use crate::error::Error;

/// Where tasks run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Master {
    /// On this many threads of this process.
    Local { slots: u32 },
    /// In this many processes of this machine, each with so many slots and so much memory.
    LocalCluster { executors: u32, slots: u32, memory_bytes: u64 },
    /// In executors that find the driver at this address.
    Cluster { listen: String },
}

impl FromStr for Master {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Setting {
            setting: "master",
            value: text.to_owned(),
            why: why.to_owned(),
        };
        const FORMS: &str = "use local[N] for N threads, local[*] for one a processor, local-cluster[E,C,M] for E \
                             processes of C threads and M bytes of memory each (as in local-cluster[2,1,1g]), or \
                             cluster://HOST:PORT for executors that come to that address";
        match text {
            "local" => return Ok(Self::Local { slots: 1 }),
            "local[*]" => return Ok(Self::Local { slots: processors() }),
            _ => {}
        }
        if let Some(listen) = text.strip_prefix("cluster://") {
            return match listen.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>())) {
                Some((host, Ok(_))) if !host.is_empty() => {
                    Ok(Self::Cluster { listen: listen.to_owned() })
                }
                _ => Err(wrong(&format!("HOST:PORT is missing; {FORMS}"))),
            };
        }
        let inner = |prefix| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(']'));
        if let Some(inner) = inner("local-cluster[") {
            return local_cluster(inner).ok_or_else(|| wrong(FORMS));
        }
        match inner("local[").map(u32::from_str) {
            Some(Ok(slots @ 1..=SLOTS_MAX)) => Ok(Self::Local { slots }),
            Some(_) => Err(wrong(&format!("N is a number from 1 to {SLOTS_MAX}; {FORMS}"))),
            None => Err(wrong(FORMS)),
        }
    }
}

/// The most tasks that one executor runs at a time.
pub(crate) const SLOTS_MAX: u32 = 4096;
const EXECUTORS_MAX: u32 = 1024;

fn local_cluster(inner: &str) -> Option<Master> {
    let mut parts = inner.split(',').map(str::trim);
    let (executors, slots, memory) = (parts.next()?, parts.next()?, parts.next()?);
    let executors = executors.parse().ok().filter(|n| (1..=EXECUTORS_MAX).contains(n))?;
    let slots = slots.parse().ok().filter(|n| (1..=SLOTS_MAX).contains(n))?;
    let memory_bytes = parse_size(memory).ok()?;
    parts.next().is_none().then_some(Master::LocalCluster { executors, slots, memory_bytes })
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
    fn clusters_parse() {
        let two = Master::LocalCluster { executors: 2, slots: 1, memory_bytes: 1 << 30 };
        assert_eq!("local-cluster[2,1,1g]".parse::<Master>().unwrap(), two);
        assert_eq!("local-cluster[2, 1, 1024m]".parse::<Master>().unwrap(), two);
        let listen = "127.0.0.1:7077".to_owned();
        assert_eq!(
            "cluster://127.0.0.1:7077".parse::<Master>().unwrap(),
            Master::Cluster { listen }
        );
    }

    #[test]
    fn a_wrong_master_is_told_the_forms() {
        let wrongs = [
            "local[0]",
            "local[x]",
            "yarn",
            "local-cluster[2,1]",
            "local-cluster[0,1,1g]",
            "local-cluster[2,1,1g,4]",
            "cluster://",
            "cluster://host",
            "cluster://:1",
        ];
        for wrong in wrongs {
            let error = wrong.parse::<Master>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("local[N]"), "{error}");
        }
    }
}
