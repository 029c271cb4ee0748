//! Finding the fields of records of delimited text (RFC 4180, with a choice of bytes). Knows nothing of
//! columns and types, so that which of them are wanted cannot change where records end.

/// The bytes that have a meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) quote: Option<u8>,
    /// Inside quotes.
    pub(super) escape: Option<u8>,
    /// At the beginning of a line.
    pub(super) comment: Option<u8>,
    /// Lines without anything are records of one empty field, and not passed over.
    pub(super) blank_records: bool,
}

/// A field: the bytes of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
    /// It holds quotes or escapes that stand for other bytes.
    pub(super) escaped: bool,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A record, and where the next one begins.
    Record { next: usize },
    /// A line without a record.
    Nothing { next: usize },
    /// Something else than a record, up to there.
    Bad { next: usize, reason: &'static str },
    /// The bytes end before the record does.
    More,
}

impl Dialect {
    /// Finds the fields of the record at `at`. `last` says that no bytes follow those given.
    pub(super) fn record(
        &self,
        bytes: &[u8],
        at: usize,
        last: bool,
        fields: &mut Vec<Token>,
    ) -> Found {
        fields.clear();
        match bytes.get(at) {
            None => return Found::More,
            Some(b'\n') if !self.blank_records => return Found::Nothing { next: at + 1 },
            Some(b'\r') if !self.blank_records && bytes.get(at + 1) == Some(&b'\n') => {
                return Found::Nothing { next: at + 2 };
            }
            Some(byte) if Some(*byte) == self.comment => {
                return match line_end(bytes, at) {
                    Some(next) => Found::Nothing { next },
                    None if last => Found::Nothing { next: bytes.len() },
                    None => Found::More,
                };
            }
            _ => {}
        }
        let mut start = at;
        loop {
            let field = match bytes.get(start) {
                Some(byte) if Some(*byte) == self.quote => self.quoted(bytes, start, last),
                Some(_) => self.plain(bytes, start, last),
                None if last => {
                    Ok((Token { start, end: start, quoted: false, escaped: false }, None))
                }
                None => Err(Found::More),
            };
            match field {
                Err(found) => return found,
                Ok((token, stop)) => {
                    fields.push(token);
                    match stop {
                        None => return Found::Record { next: bytes.len() },
                        Some(stop) if bytes[stop] == b'\n' => {
                            return Found::Record { next: stop + 1 };
                        }
                        Some(stop) => start = stop + 1,
                    }
                }
            }
        }
    }

    /// A field without quotes, and the delimiter or newline that ends it.
    fn plain(
        &self,
        bytes: &[u8],
        start: usize,
        last: bool,
    ) -> Result<(Token, Option<usize>), Found> {
        let stop = memchr::memchr2(self.delimiter, b'\n', &bytes[start..]).map(|at| start + at);
        if stop.is_none() && !last {
            return Err(Found::More);
        }
        let mut end = stop.unwrap_or(bytes.len());
        if stop.is_none_or(|stop| bytes[stop] == b'\n') && end > start && bytes[end - 1] == b'\r' {
            end -= 1;
        }
        Ok((Token { start, end, quoted: false, escaped: false }, stop))
    }

    /// A field in quotes, whose first is at `open`.
    fn quoted(
        &self,
        bytes: &[u8],
        open: usize,
        last: bool,
    ) -> Result<(Token, Option<usize>), Found> {
        let quote = bytes[open];
        let escape = self.escape.unwrap_or(quote);
        let (start, mut at, mut escaped) = (open + 1, open + 1, false);
        let end = loop {
            let Some(found) = memchr::memchr2(quote, escape, &bytes[at..]).map(|found| at + found)
            else {
                return Err(unfinished(bytes, last));
            };
            let next = bytes.get(found + 1);
            let escapes = bytes[found] == escape && escape != quote;
            if escapes || next == Some(&quote) {
                escaped = true;
                at = found + 2;
            } else if next.is_none() && !last {
                return Err(Found::More);
            } else {
                break found;
            }
            if at > bytes.len() {
                return Err(unfinished(bytes, last));
            }
        };
        let token = Token { start, end, quoted: true, escaped };
        match (bytes.get(end + 1), bytes.get(end + 2)) {
            (None, _) => Ok((token, None)),
            (Some(byte), _) if *byte == self.delimiter || *byte == b'\n' => {
                Ok((token, Some(end + 1)))
            }
            (Some(b'\r'), Some(b'\n')) => Ok((token, Some(end + 2))),
            (Some(b'\r'), None) => {
                if last {
                    Ok((token, None))
                } else {
                    Err(Found::More)
                }
            }
            _ => Err(match line_end(bytes, end) {
                Some(next) => Found::Bad { next, reason: STRAY },
                None if last => Found::Bad { next: bytes.len(), reason: STRAY },
                None => Found::More,
            }),
        }
    }

    /// Appends the content of an escaped field as it is meant.
    pub(super) fn unescape(&self, content: &[u8], out: &mut Vec<u8>) {
        let mut rest = content;
        while let Some(at) =
            rest.iter().position(|byte| Some(*byte) == self.quote || Some(*byte) == self.escape)
        {
            out.extend_from_slice(&rest[..at]);
            out.extend(rest.get(at + 1));
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
    }
}

const STRAY: &str = "a quoted field is followed by something else than a delimiter";
const OPEN: &str = "a quoted field is not closed";

fn unfinished(bytes: &[u8], last: bool) -> Found {
    if last { Found::Bad { next: bytes.len(), reason: OPEN } } else { Found::More }
}

fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const USUAL: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
        escape: None,
        comment: None,
        blank_records: false,
    };

    /// All records, read with so many bytes at a time.
    fn read(dialect: &Dialect, text: &str, step: usize) -> Vec<Result<Vec<String>, &'static str>> {
        let (bytes, mut shown, mut at) = (text.as_bytes(), 0, 0);
        let (mut records, mut fields) = (Vec::new(), Vec::new());
        loop {
            let last = shown == bytes.len();
            match dialect.record(&bytes[..shown], at, last, &mut fields) {
                Found::More if last => return records,
                Found::More => shown = (shown + step).min(bytes.len()),
                Found::Nothing { next } => at = next,
                Found::Bad { next, reason } => {
                    records.push(Err(reason));
                    at = next;
                }
                Found::Record { next } => {
                    let field = |token: &Token| {
                        let (content, mut out) = (&bytes[token.start..token.end], Vec::new());
                        match token.escaped {
                            true => dialect.unescape(content, &mut out),
                            false => out.extend_from_slice(content),
                        }
                        String::from_utf8(out).unwrap()
                    };
                    records.push(Ok(fields.iter().map(field).collect()));
                    at = next;
                }
            }
        }
    }

    fn records(text: &str) -> Vec<Result<Vec<String>, &'static str>> {
        read(&USUAL, text, usize::MAX / 2)
    }

    fn fields(record: &[&str]) -> Result<Vec<String>, &'static str> {
        Ok(record.iter().map(|field| (*field).to_owned()).collect())
    }

    #[test]
    fn records_are_found() {
        assert_eq!(
            records("a,b\r\n1,\n\n,2"),
            [fields(&["a", "b"]), fields(&["1", ""]), fields(&["", "2"])]
        );
        assert_eq!(records("a,"), [fields(&["a", ""])]);
        assert_eq!(
            records("\"a,\"\"b\"\"\n\",c\r\n\"\",d"),
            [fields(&["a,\"b\"\n", "c"]), fields(&["", "d"])]
        );
        assert_eq!(records("a\"b,\"c\""), [fields(&["a\"b", "c"])]);
    }

    #[test]
    fn what_is_no_record_ends_with_its_line() {
        assert_eq!(records("\"a\"x,b\nc,d"), [Err(STRAY), fields(&["c", "d"])]);
        assert_eq!(records("a,b\n\"c,d\ne"), [fields(&["a", "b"]), Err(OPEN)]);
    }

    #[test]
    fn other_bytes_may_have_the_meaning() {
        let dialect = Dialect {
            delimiter: b';',
            quote: Some(b'\''),
            escape: Some(b'\\'),
            comment: Some(b'#'),
            ..USUAL
        };
        let found = read(&dialect, "# none\n'a\\'b\\\\';'c''d'\n#", 1);
        assert_eq!(found, [fields(&["a'b\\", "c'd"])]);
        let none = Dialect { quote: None, ..USUAL };
        assert_eq!(read(&none, "\"a,b\"", 1), [fields(&["\"a", "b\""])]);
        let blank = Dialect { blank_records: true, ..USUAL };
        assert_eq!(read(&blank, "a\n\nb\n", 1), [fields(&["a"]), fields(&[""]), fields(&["b"])]);
    }

    proptest! {
        /// However few bytes are there at a time, the records are the same.
        #[test]
        fn records_do_not_depend_on_reads(text in "[a\",\r\n]{0,40}", step in 1usize..5) {
            prop_assert_eq!(read(&USUAL, &text, step), records(&text));
        }

        #[test]
        fn quoted_records_come_back(table in prop::collection::vec(prop::collection::vec("[a\",\r\né]{0,6}", 2..4), 0..5)) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |record: &Vec<String>| record.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = table.iter().map(line).collect::<Vec<_>>().join("\n");
            let expected: Vec<Result<_, &str>> = table.into_iter().map(Ok).collect();
            prop_assert_eq!(read(&USUAL, &text, 3), expected);
        }
    }
}
