use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

/// The string as a slice of a larger buffer, surrounded by other bytes.
fn sliced(content: &str) -> Text {
    let buffer = Buffer::from_string(format!("ab{content}cdefghijklmnopqrstuvwxyz"));
    buffer.slice(2, 2 + content.len()).unwrap()
}

/// The string as a slice of a buffer that is not text as a whole.
fn mixed(content: &str) -> Text {
    let mut bytes = vec![0xFF, 0xFE];
    bytes.extend_from_slice(content.as_bytes());
    bytes.push(0xC3);
    Buffer::from_bytes(bytes).slice(2, 2 + content.len()).unwrap()
}

/// The string with full-width positions.
fn long(content: &str) -> Text {
    let Repr::Slice { buffer, start, .. } = sliced(content).repr else { return content.into() };
    let start = start as usize;
    Text { repr: Repr::Long(Arc::new(LongSlice { buffer, start, end: start + content.len() })) }
}

fn forms(content: &str) -> [Text; 5] {
    [
        Text::from(content),
        Text::from(content.to_owned()),
        sliced(content),
        mixed(content),
        long(content),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    // Short alphabets make collisions, whitespace and boundaries likely.
    proptest::string::string_regex("[ab\u{0} \t\r\u{b}é\u{a0}\u{2003}\u{3000}ж漢😀,]{0,40}")
        .unwrap()
}

#[test]
fn short_strings_are_in_place_and_longer_ones_are_slices() {
    assert!(forms("12345678901234").iter().all(|text| !text.is_slice()));
    assert!(forms("123456789012345").iter().all(Text::is_slice));
    assert_eq!(Text::default().as_str(), "");
    assert!(Text::EMPTY.is_empty());
}

#[test]
fn slices_beyond_24_bits_are_whole() {
    let content = "x".repeat(SLICE_BYTES_END + 3);
    let text = Text::from(content.clone());
    assert!(matches!(text.repr, Repr::Long(_)));
    assert_eq!(text.len(), content.len());
    assert_eq!(text.as_str(), content);
    let part = text.slice(SLICE_BYTES_END - 20..SLICE_BYTES_END).unwrap();
    assert_eq!(part, "x".repeat(20));
    assert!(matches!(part.repr, Repr::Slice { .. }));
    assert_eq!(text.words().next(), Some(text));
}

#[test]
fn padding_is_not_content() {
    assert_ne!(Text::from("a"), Text::from("a\0"));
    assert_eq!(Text::from("a").cmp(&Text::from("a\0")), Ordering::Less);
    assert_ne!(fed(&"a".into()), fed(&"a\0".into()));
}

#[test]
fn slice_refuses_what_is_not_a_string() {
    let text = Text::from("naïve façade of a long line");
    assert_eq!(text.slice(0..3), None);
    assert_eq!(text.slice(3..4), None);
    assert_eq!(text.slice(5..99), None);
    #[expect(clippy::reversed_empty_ranges, reason = "this is the case under test")]
    let reversed = text.slice(5..2);
    assert_eq!(reversed, None);
    assert_eq!(text.slice(..=3).unwrap(), "naï");
    assert_eq!(text.slice(..).unwrap(), text);
    let mixed = Buffer::from_bytes(vec![b'a', 0xFF, b'b']);
    assert_eq!(mixed.slice(0, 2), None);
    assert_eq!(mixed.slice(2, 3).unwrap(), "b");
}

#[test]
fn compact_lets_go_of_the_shared_buffer() {
    let buffer = Buffer::from_string("a string of some length, and the rest".to_owned());
    let text = buffer.slice(0, 23).unwrap();
    assert_eq!(Arc::strong_count(&buffer), 2);
    let own = text.compact();
    drop(text);
    assert_eq!(Arc::strong_count(&buffer), 1);
    assert_eq!(own, "a string of some length");
}

#[test]
fn short_words_do_not_hold_the_buffer() {
    let buffer = Buffer::from_string("some short words and incomprehensibilities".to_owned());
    let line = buffer.slice(0, 42).unwrap();
    let words: Vec<_> = line.words().collect();
    drop(line);
    assert_eq!(words, ["some", "short", "words", "and", "incomprehensibilities"]);
    assert_eq!(Arc::strong_count(&buffer), 2);
}

#[test]
fn to_lowercase_follows_unicode() {
    assert_eq!(Text::from("ABC-1").to_lowercase(), "abc-1");
    assert_eq!(Text::from("ÀÉ").to_lowercase(), "àé");
    assert_eq!(Text::from("İ").to_lowercase(), "i̇");
    assert_eq!(Text::from("A LONGER LINE Of TEXT").to_lowercase(), "a longer line of text");
}

#[test]
fn parse_gives_the_value_or_its_error() {
    assert_eq!(Text::from("42").parse::<u32>(), Ok(42));
    assert!(Text::from("4x2").parse::<u32>().is_err());
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Row {
    id: u64,
    name: Text,
    notes: Vec<Text>,
}

fn row() -> Row {
    let notes = vec!["short".into(), "long enough to be a slice".into()];
    Row { id: u64::MAX, name: "a name of more than 14 bytes".into(), notes }
}

#[test]
fn encodes_as_a_string() {
    let text = "héllo wörld and more";
    let encoded = postcard::to_stdvec(&Text::from(text)).unwrap();
    assert_eq!(encoded, postcard::to_stdvec(text).unwrap());
    assert_eq!(serde_json::to_string(&Text::from("a\"b")).unwrap(), r#""a\"b""#);
    assert_eq!(serde_json::from_str::<Text>(r#""a\u0041b""#).unwrap(), "aAb");
}

#[test]
fn decoding_in_scope_shares_the_buffer_and_outside_copies() {
    let bytes = postcard::to_stdvec(&row()).unwrap();
    assert!(std::str::from_utf8(&bytes).is_err(), "the payload must be a mix");
    let buffer = Buffer::from_bytes(bytes.clone());

    let scope = decode_scope(&buffer);
    let shared: Row = postcard::from_bytes(buffer.as_bytes()).unwrap();
    let foreign: Row = postcard::from_bytes(&bytes).unwrap();
    drop(scope);
    let after: Row = postcard::from_bytes(buffer.as_bytes()).unwrap();

    assert_eq!([&shared, &foreign, &after], [&row(); 3]);
    // The buffer itself and two long strings of `shared`.
    assert_eq!(Arc::strong_count(&buffer), 3);
}

#[test]
fn decode_scopes_nest() {
    let outer = Buffer::from_bytes(postcard::to_stdvec("a string of the outer buffer").unwrap());
    let inner = Buffer::from_bytes(postcard::to_stdvec("a string of the inner buffer").unwrap());
    let _outer = decode_scope(&outer);
    drop(decode_scope(&inner));
    let text: Text = postcard::from_bytes(outer.as_bytes()).unwrap();
    assert_eq!(Arc::strong_count(&outer), 3);
    assert_eq!(text, "a string of the outer buffer");
}

/// A hasher that keeps what it is fed, to show that different values feed different input.
#[derive(Default)]
struct Record(Vec<u8>);

impl Hasher for Record {
    fn finish(&self) -> u64 {
        0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

fn fed(text: &Text) -> Vec<u8> {
    let mut record = Record::default();
    text.hash(&mut record);
    record.0
}

proptest! {
    #[test]
    fn every_form_behaves_as_the_string(a in any_text(), b in any_text()) {
        for x in forms(&a) {
            prop_assert_eq!(x.as_str(), &a);
            prop_assert_eq!(x.as_bytes(), a.as_bytes());
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(fed(&x), fed(&Text::from(&a)));
            prop_assert_eq!(&x.compact(), &x);
            for y in forms(&b) {
                prop_assert_eq!(x == y, a == b);
                prop_assert_eq!(x.cmp(&y), a.cmp(&b));
                prop_assert_eq!(fed(&x) == fed(&y), a == b);
            }
        }
    }

    #[test]
    fn operations_agree_with_str(a in any_text()) {
        for x in forms(&a) {
            let words: Vec<_> = a.split_whitespace().map(Text::from).collect();
            let mut iterator = x.words();
            let by_next: Vec<_> = std::iter::from_fn(|| iterator.next()).collect();
            prop_assert_eq!(&by_next, &words);
            prop_assert_eq!(x.words().fold(vec![], |mut all, word| { all.push(word); all }), words);
            prop_assert_eq!(x.trim(), a.trim());
            prop_assert_eq!(x.to_lowercase(), a.to_lowercase());
            prop_assert_eq!(x.contains("b,"), a.contains("b,"));
            for separator in [',', 'é', '漢'] {
                let parts: Vec<_> = a.split(separator).map(Text::from).collect();
                prop_assert_eq!(x.split(separator).collect::<Vec<_>>(), parts);
                let once = a.split_once(separator).map(|(l, r)| (Text::from(l), Text::from(r)));
                prop_assert_eq!(x.split_once(separator), once);
            }
            for from in 0..=a.len() {
                for to in from..=a.len() {
                    prop_assert_eq!(x.slice(from..to), a.get(from..to).map(Text::from));
                }
            }
        }
    }

    #[test]
    fn whitespace_is_unicode_whitespace(c in any::<char>()) {
        let text = Text::from(format!("a{c}b"));
        prop_assert_eq!(text.words().count(), if c.is_whitespace() { 2 } else { 1 });
    }
}

#[test]
fn every_whitespace_character_separates() {
    let spaces: HashSet<char> = ('\0'..=char::MAX).filter(|c| c.is_whitespace()).collect();
    for c in ('\0'..'\u{4000}').chain('\u{FE00}'..='\u{FFFF}') {
        let words = Text::from(format!("a{c}b")).words().count();
        assert_eq!(words, 1 + usize::from(spaces.contains(&c)), "{c:?}");
    }
}
