//! LIKE: `%` stands for any characters, `_` for one character (not byte).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringViewArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use memchr::memmem::Finder;

use super::cast;
use super::error::EvalError;
use super::value::Value;

/// Bytes of a string that its view holds in any case.
const PREFIX_BYTES: usize = 4;

/// A pattern, ready to match.
#[derive(Debug)]
pub(super) struct Like {
    pattern: Pattern,
    /// Of strings in small letters; the pattern is.
    ignore_case: bool,
}

#[derive(Debug)]
enum Pattern {
    Exact(String),
    /// Strings with `%` between, at the start and at the end: `first%between%...%last`.
    Parts {
        first: String,
        between: Vec<Finder<'static>>,
        last: String,
        /// All lengths together.
        bytes: usize,
    },
    General(Vec<Token>),
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Text(String),
    /// `_`
    One,
    /// `%`
    Any,
}

impl Like {
    /// Prepares a pattern.
    ///
    /// # Errors
    /// If it ends in the escape character.
    pub(super) fn new(pattern: &str, escape: char, ignore_case: bool) -> Result<Self, EvalError> {
        let mut tokens = parse(pattern, escape)?;
        if ignore_case {
            for token in &mut tokens {
                if let Token::Text(text) = token {
                    *text = text.to_lowercase();
                }
            }
        }
        Ok(Self { pattern: Pattern::of(tokens), ignore_case })
    }

    /// Which strings match.
    pub(super) fn matches(&self, value: &Value, negated: bool) -> Result<Value, EvalError> {
        value.map(|array| {
            let array = strings(array)?;
            let array = array.as_string_view();
            let matched = if self.ignore_case {
                BooleanBuffer::collect_bool(array.len(), |row| {
                    self.pattern.matches(&array.value(row).to_lowercase())
                })
            } else {
                self.pattern.matches_all(array)
            };
            let answer = if negated { !&matched } else { matched };
            Ok(Arc::new(BooleanArray::new(answer, array.nulls().cloned())) as ArrayRef)
        })
    }

    /// Which strings match the pattern of their row.
    pub(super) fn matches_each(
        value: &Value,
        pattern: &Value,
        escape: char,
        ignore_case: bool,
        negated: bool,
        rows: usize,
    ) -> Result<Value, EvalError> {
        let (values, patterns) = (strings(value.array())?, strings(pattern.array())?);
        let (values, patterns) = (values.as_string_view(), patterns.as_string_view());
        let mut last: Option<(&str, Self)> = None;
        let mut answers = Vec::with_capacity(rows);
        for row in 0..rows {
            let (at, pattern_at) = (value.index(row), pattern.index(row));
            if values.is_null(at) || patterns.is_null(pattern_at) {
                answers.push(None);
                continue;
            }
            let pattern = patterns.value(pattern_at);
            let like = match last.take().filter(|(text, _)| *text == pattern) {
                Some((_, like)) => like,
                None => Self::new(pattern, escape, ignore_case)?,
            };
            let text = values.value(at);
            let matched = if ignore_case {
                like.pattern.matches(&text.to_lowercase())
            } else {
                like.pattern.matches(text)
            };
            answers.push(Some(matched != negated));
            last = Some((pattern, like));
        }
        Ok(Value::of(BooleanArray::from(answers)))
    }
}

fn strings(array: &ArrayRef) -> Result<ArrayRef, EvalError> {
    match array.data_type() {
        DataType::Utf8View => Ok(Arc::clone(array)),
        _ => cast::cast(array, &DataType::Utf8View, false),
    }
}

fn parse(pattern: &str, escape: char) -> Result<Vec<Token>, EvalError> {
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let token = match character {
            _ if character == escape => {
                let Some(literal) = characters.next() else {
                    let why = format!(
                        "the pattern {pattern:?} ends in its escape character {escape:?}: write it twice for itself"
                    );
                    return Err(EvalError::argument("like", why));
                };
                text.push(literal);
                continue;
            }
            '%' => Token::Any,
            '_' => Token::One,
            _ => {
                text.push(character);
                continue;
            }
        };
        if !text.is_empty() {
            tokens.push(Token::Text(std::mem::take(&mut text)));
        }
        if token != Token::Any || tokens.last() != Some(&Token::Any) {
            tokens.push(token);
        }
    }
    if !text.is_empty() {
        tokens.push(Token::Text(text));
    }
    Ok(tokens)
}

impl Pattern {
    fn of(tokens: Vec<Token>) -> Self {
        if tokens.contains(&Token::One) {
            return Self::General(tokens);
        }
        let mut parts = vec![String::new()];
        for token in &tokens {
            match (token, parts.last_mut()) {
                (Token::Text(text), Some(last)) => last.push_str(text),
                _ => parts.push(String::new()),
            }
        }
        let bytes = parts.iter().map(String::len).sum();
        let last = parts.pop().unwrap_or_default();
        if parts.is_empty() {
            return Self::Exact(last);
        }
        let first = parts.remove(0);
        let between = parts.iter().map(|part| Finder::new(part).into_owned()).collect();
        Self::Parts { first, between, last, bytes }
    }

    fn matches_all(&self, array: &StringViewArray) -> BooleanBuffer {
        // What a string begins with is in its view: most are told apart without a look at their bytes.
        let start = match self {
            Self::Exact(text) => text.as_bytes(),
            Self::Parts { first, .. } => first.as_bytes(),
            Self::General(_) => &[],
        };
        let start = &start[..start.len().min(PREFIX_BYTES)];
        let shift = |length: usize| if length == 0 { 0 } else { u32::MAX >> (32 - 8 * length) };
        let mask = shift(start.len());
        let mut wanted = [0; PREFIX_BYTES];
        wanted[..start.len()].copy_from_slice(start);
        let wanted = u32::from_le_bytes(wanted);
        let views = array.views();
        BooleanBuffer::collect_bool(array.len(), |row| {
            let prefix = (views[row] >> 32) as u32;
            prefix & mask == wanted && self.matches(array.value(row))
        })
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text == exact,
            Self::Parts { first, between, last, bytes } => {
                let bytes_of = text.as_bytes();
                if bytes_of.len() < *bytes
                    || !bytes_of.starts_with(first.as_bytes())
                    || !bytes_of.ends_with(last.as_bytes())
                {
                    return false;
                }
                let mut rest = &bytes_of[first.len()..bytes_of.len() - last.len()];
                between.iter().all(|part| match part.find(rest) {
                    Some(at) => {
                        rest = &rest[at + part.needle().len()..];
                        true
                    }
                    None => false,
                })
            }
            Self::General(tokens) => glob(tokens, text),
        }
    }
}

/// Matches with one step back: to the last `%`, which then takes one character more. Earlier ones need not take
/// more than they have.
fn glob(tokens: &[Token], text: &str) -> bool {
    let (mut token, mut rest) = (0, text);
    let mut back: Option<(usize, &str)> = None;
    loop {
        let step = match tokens.get(token) {
            None if rest.is_empty() => return true,
            None => None,
            Some(Token::Any) => {
                back = Some((token + 1, rest));
                Some(rest)
            }
            Some(Token::One) => without_first(rest),
            Some(Token::Text(literal)) => rest.strip_prefix(literal.as_str()),
        };
        if let Some(step) = step {
            (token, rest) = (token + 1, step);
            continue;
        }
        let Some((after, from)) = back else { return false };
        let Some(from) = without_first(from) else { return false };
        back = Some((after, from));
        (token, rest) = (after, from);
    }
}

fn without_first(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    characters.next().map(|_| characters.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Like::new(pattern, '\\', false).unwrap().pattern.matches(text)
    }

    #[test]
    fn known_answers() {
        let cases = [
            ("é", "_", true),
            ("🦆", "_", true),
            ("🦆🦆", "__", true),
            ("🦆🦆", "_", false),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a%c", true),
            ("aba", "aba%aba", false),
            ("a%c", r"a\%c", true),
            ("abc", r"a\%c", false),
            ("a_c", r"a\_c", true),
            (r"a\c", r"a\\c", true),
            ("special packages requests", "%special%requests%", true),
            ("requests special", "%special%requests%", false),
            ("aaab", "%a_b", true),
            ("abab", "%a_a%b", true),
            ("abba", "%a_a%b", false),
            ("line\nbreak", "line_break", true),
            ("ABC", "abc", false),
        ];
        for (text, pattern, right) in cases {
            assert_eq!(like(text, pattern), right, "{text:?} LIKE {pattern:?}");
        }
        let error = Like::new("abc\\", '\\', false).unwrap_err().to_string();
        assert!(error.contains("ends in its escape character"), "{error}");
    }

    #[test]
    fn columns_with_nulls_other_case_and_patterns_of_rows() {
        let texts = [Some("Straße 1"), None, Some("a much longer street name 1"), Some("x")];
        let value = Value::of(StringViewArray::from(texts.to_vec()));
        let matched = |like: Like, negated| {
            let value = like.matches(&value, negated).unwrap();
            value.array().as_boolean().iter().collect::<Vec<_>>()
        };
        let right = [Some(true), None, Some(true), Some(false)];
        assert_eq!(matched(Like::new("% 1", '\\', false).unwrap(), false), right);
        let right = [Some(false), None, Some(true), Some(true)];
        assert_eq!(matched(Like::new("STRASSE%", '\\', true).unwrap(), true)[1..], right[1..]);
        let right = [Some(false), None, Some(true), Some(false)];
        assert_eq!(matched(Like::new("A MUCH%", '\\', true).unwrap(), false), right);
        let patterns = [Some("Str%"), Some("%"), Some("%x%"), None];
        let patterns = Value::of(StringViewArray::from(patterns.to_vec()));
        let each = Like::matches_each(&value, &patterns, '\\', false, false, 4).unwrap();
        let right = BooleanArray::from(vec![Some(true), None, Some(false), None]);
        assert_eq!(each.array().as_boolean(), &right);
    }

    /// The definition, one character at a time.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|from| naive(&text[from..], rest)),
            ['_', rest @ ..] => !text.is_empty() && naive(&text[1..], rest),
            [one, rest @ ..] => text.first() == Some(one) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #[test]
        fn every_pattern_matches_by_definition(text in "[aé🦆]{0,8}", pattern in "[aé🦆%_]{0,6}") {
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(like(&text, &pattern), naive(&characters(&text), &characters(&pattern)));
        }
    }
}
