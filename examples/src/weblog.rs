//! Lines of a web server's log, as [`crate::generate::Logs`] writes them.

use millstream::Text;
use serde::{Deserialize, Serialize};

/// One request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// When it came, in milliseconds since 1970.
    pub time_ms: u64,
    /// Who sent it.
    pub user: Text,
    /// The HTTP method.
    pub method: Text,
    /// The page.
    pub path: Text,
}

impl Request {
    /// Reads a line `time_ms<TAB>user<TAB>method<TAB>path<TAB>…`; `None` if it is not one.
    #[must_use]
    pub fn parse(line: &Text) -> Option<Self> {
        let mut fields = line.split('\t');
        let time_ms = fields.next()?.parse().ok()?;
        let (user, method, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { time_ms, user, method, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_by_its_tabs() {
        let request = Request::parse(&"17\tann\tGET\t/a b\t200\t9".into()).unwrap();
        assert_eq!((request.time_ms, request.user.as_str()), (17, "ann"));
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a b"));
        for bad in ["", "17", "17\tann\tGET", "x\tann\tGET\t/", "-1\tann\tGET\t/"] {
            assert_eq!(Request::parse(&bad.into()), None, "{bad}");
        }
    }
}
