//! Web-server log lines, for sessions and top pages.

use super::number::{push_padded, push_u64};
use super::{AliasTable, Lines, Rng};

/// Distinct pages; their popularity, as that of users, follows Zipf's law.
const PAGES: u32 = 10_000;
/// Zipf's exponent of users and pages.
const EXPONENT: f64 = 0.9;
/// Longest time between two lines, in milliseconds.
const STEP_MS: u64 = 20;
/// Statuses by chance: mostly 200.
const STATUSES: [&str; 16] = [
    "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "304", "304",
    "302", "404", "500",
];

/// Lines `time_ms<TAB>user<TAB>method<TAB>path<TAB>status<TAB>bytes`, in order of time (milliseconds since 1970).
#[derive(Clone, Debug)]
pub struct Logs {
    rng: Rng,
    users: AliasTable,
    pages: AliasTable,
    time_ms: u64,
}

impl Logs {
    /// A log of `users` (at least 1) users.
    #[must_use]
    pub fn new(seed: u64, users: u32) -> Self {
        Self {
            rng: Rng::new(seed),
            users: AliasTable::zipf(users, EXPONENT),
            pages: AliasTable::zipf(PAGES, EXPONENT),
            time_ms: 1_700_000_000_000,
        }
    }
}

impl Lines for Logs {
    fn line(&mut self, out: &mut Vec<u8>) {
        let rng = &mut self.rng;
        self.time_ms += rng.below(STEP_MS + 1);
        push_u64(out, self.time_ms);
        out.extend_from_slice(b"\tuser");
        push_padded(out, self.users.draw(rng).into(), 7);
        out.extend_from_slice(if rng.below(8) == 0 { b"\tPOST\t/page/" } else { b"\tGET\t/page/" });
        push_u64(out, self.pages.draw(rng).into());
        out.push(b'\t');
        out.extend_from_slice(STATUSES[rng.below(STATUSES.len() as u64) as usize].as_bytes());
        out.push(b'\t');
        push_u64(out, 200 + rng.below(50_000));
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_six_fields_in_order_of_time() {
        let (mut logs, mut out) = (Logs::new(1, 100), Vec::new());
        for _ in 0..1_000 {
            logs.line(&mut out);
        }
        let mut last_ms = 0;
        for line in std::str::from_utf8(&out).unwrap().lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [time_ms, user, "GET" | "POST", path, status, bytes] = fields[..] else {
                panic!("{line}")
            };
            let time_ms: u64 = time_ms.parse().unwrap();
            assert!(time_ms >= last_ms);
            last_ms = time_ms;
            assert!(user.len() == 11 && user["user".len()..].parse::<u32>().unwrap() < 100);
            assert!(path["/page/".len()..].parse::<u32>().unwrap() < PAGES);
            assert!(STATUSES.contains(&status) && bytes.parse::<u64>().unwrap() >= 200);
        }
    }
}
