//! Known answers, and random strings against code that is slow and plain.

use arrow::datatypes::DataType;
use millstream_planner::expr::{Scalar, ScalarFn as F};
use proptest::prelude::*;

use crate::eval::testing::{check, fails, row, value};

const TEXT: DataType = DataType::Utf8View;
const LONG: &str = "the mill stream turns the wheel, the wheel turns the stone: 🦆🦆";

fn null() -> Scalar {
    Scalar::Null(TEXT)
}

fn list(items: &[&str]) -> Scalar {
    Scalar::List(items.iter().map(|item| (*item).into()).collect(), TEXT)
}

#[test]
fn lengths_count_characters() {
    for (string, characters, bytes) in [("", 0, 0), ("é", 1, 2), ("🦆", 1, 4), ("🦆🦆", 2, 8)]
    {
        check(F::Length, row![string], characters);
        check(F::OctetLength, row![string], bytes);
    }
    check(F::Length, row![LONG], 62);
    check(F::Length, row![[1u8, 255].as_slice()], 2);
    check(F::Length, row![null()], Scalar::Null(DataType::Int32));
}

#[test]
fn letters() {
    check(F::Lower, row!["MÜHLE Straße"], "mühle straße");
    check(F::Lower, row!["ΟΔΟΣ ΟΔΟΣ"], "οδος οδος");
    check(F::Upper, row!["mühle straße"], "MÜHLE STRASSE");
    check(F::Upper, row!["abc xyz {}"], "ABC XYZ {}");
    check(F::InitCap, row!["sPark sql-engine éa"], "Spark Sql-engine Éa");
    check(F::InitCap, row![""], "");
    check(F::Upper, row![null()], null());
}

#[test]
fn trimming() {
    check(F::Trim, row!["  a b\t "], "a b\t");
    check(F::LTrim, row!["  ab "], "ab ");
    check(F::RTrim, row!["  ab "], "  ab");
    check(F::Trim, row!["    "], "");
    check(F::Trim, row!["xyéaéyx", "xyé"], "a");
    check(F::LTrim, row!["xxa", "x"], "a");
    check(F::RTrim, row!["axx", ""], "axx");
    check(F::Trim, row!["ab", null()], null());
}

#[test]
fn substrings_count_from_1_and_from_the_end() {
    check(F::Substring, row!["Spark SQL", 5], "k SQL");
    check(F::Substring, row!["Spark SQL", -3], "SQL");
    check(F::Substring, row!["Spark SQL", 5, 1], "k");
    check(F::Substring, row!["Spark SQL", 0, 2], "Sp");
    check(F::Substring, row!["Spark SQL", 1, 0], "");
    check(F::Substring, row!["Spark SQL", 1, -5], "");
    check(F::Substring, row!["Spark SQL", 100, 5], "");
    check(F::Substring, row!["abc", -5, 3], "a");
    check(F::Substring, row!["abc", -5, 2], "");
    check(F::Substring, row!["abc", i64::MIN, i64::MAX], "ab");
    check(F::Substring, row!["abc", i64::MAX, i64::MAX], "");
    check(F::Substring, row!["🦆é🦆x", 2, 2], "é🦆");
    check(F::Substring, row!["🦆é🦆x", -2, 9], "🦆x");
    check(F::Substring, row![LONG, 5, 20], "mill stream turns th");
    check(F::Substring, row!["abc", Scalar::Null(DataType::Int64), 1], null());
    check(F::Left, row!["🦆ab", 2], "🦆a");
    check(F::Left, row!["ab", -1], "");
    check(F::Right, row!["🦆ab🦆", 2], "b🦆");
    check(F::Right, row!["ab", 5], "ab");
    check(F::Right, row!["ab", 0], "");
}

#[test]
fn parts_are_counted_from_both_ends() {
    check(F::SplitPart, row!["11.12.13", ".", 3], "13");
    check(F::SplitPart, row!["11.12.13", ".", -3], "11");
    check(F::SplitPart, row!["11.12.13", ".", 4], "");
    check(F::SplitPart, row!["11.12.13", ".", -4], "");
    check(F::SplitPart, row!["11.12.13", ".", i64::MIN], "");
    check(F::SplitPart, row!["11ab12", "ab", 1], "11");
    check(F::SplitPart, row!["11ab12", "", 1], "11ab12");
    check(F::SplitPart, row!["11ab12", "", 2], "");
    check(F::SplitPart, row!["aaa", "aa", -1], "a");
    fails(F::SplitPart, row!["a", ".", 0], &TEXT, "no part 0");
}

#[test]
fn joining() {
    check(F::Concat, row!["a", "", "🦆"], "a🦆");
    check(F::Concat, row!["a", null()], null());
    check(F::ConcatWs, row!["-", "a", null(), "b"], "a-b");
    check(F::ConcatWs, row![", ", list(&["x", "y"]), "z", list(&[])], "x, y, z");
    check(F::ConcatWs, row!["-", null()], "");
    check(F::ConcatWs, row!["-"], "");
    check(F::ConcatWs, row![null(), "a"], null());
    check(F::ConcatWs, row!["/", "a", Scalar::Null(DataType::Null)], "a");
}

#[test]
fn searching() {
    check(F::Contains, row!["Spark SQL", "k S"], true);
    check(F::Contains, row!["Spark SQL", "sql"], false);
    check(F::Contains, row!["", ""], true);
    check(F::StartsWith, row!["é🦆", "é"], true);
    check(F::EndsWith, row!["é🦆", "é"], false);
    check(F::EndsWith, row!["x", null()], Scalar::Null(DataType::Boolean));
    check(F::Position, row!["é🦆ab🦆", "🦆"], 2);
    check(F::Position, row!["é🦆ab🦆", "🦆", 3], 5);
    check(F::Position, row!["foobarbar", "bar", 5], 7);
    check(F::Position, row!["abc", "x"], 0);
    check(F::Position, row!["abc", "a", 0], 0);
    check(F::Position, row!["abc", "", 9], 1);
    check(F::Position, row!["abc", "c", 9], 0);
}

#[test]
fn replacing() {
    check(F::Replace, row!["ABCabcab", "ab", "DEFG"], "ABCDEFGcDEFG");
    check(F::Replace, row!["ABCabc", "abc"], "ABC");
    check(F::Replace, row!["abc", "", "x"], "abc");
    check(F::Translate, row!["AaBbCc🦆", "abc🦆", "12"], "A1B2C");
    check(F::Translate, row!["aab", "aa", "xy"], "xxb");
}

#[test]
fn making_longer() {
    check(F::Repeat, row!["ab", 3], "ababab");
    check(F::Repeat, row!["ab", -3], "");
    check(F::Repeat, row!["", i64::MAX], "");
    fails(F::Repeat, row!["ab", i64::MAX], &TEXT, "a string has at most 2147483647");
    check(F::LPad, row!["hi", 5, "??🦆"], "??🦆hi");
    check(F::LPad, row!["hi", 6, "?🦆"], "?🦆?🦆hi");
    check(F::LPad, row!["hi", 1, "??"], "h");
    check(F::LPad, row!["hi", -1, "?"], "");
    check(F::LPad, row!["hi", 4], "  hi");
    check(F::LPad, row!["hi", 9, ""], "hi");
    check(F::RPad, row!["🦆", 4, "ab"], "🦆aba");
    check(F::RPad, row!["hi", 2, "ab"], "hi");
    fails(F::RPad, row!["hi", i64::MAX, "ab"], &TEXT, "a string has at most");
    check(F::Reverse, row!["é🦆b"], "b🦆é");
    check(F::Ascii, row!["🦆x"], 129_414);
    check(F::Ascii, row![""], 0);
    check(F::Chr, row![65], "A");
    check(F::Chr, row![256 + 233], "é");
    check(F::Chr, row![-1], "");
}

#[test]
fn splitting() {
    check(F::Split, row!["oneAtwoBthreeC", "[ABC]"], list(&["one", "two", "three", ""]));
    check(F::Split, row!["oneAtwoBthreeC", "[ABC]", -1], list(&["one", "two", "three", ""]));
    check(F::Split, row!["oneAtwoBthreeC", "[ABC]", 2], list(&["one", "twoBthreeC"]));
    check(F::Split, row!["a,b", ",", 1], list(&["a,b"]));
    check(F::Split, row!["", ","], list(&[""]));
    check(F::Split, row!["a🦆b", ""], list(&["a", "🦆", "b"]));
    check(F::Split, row!["a🦆b", "", 2], list(&["a", "🦆b"]));
    check(F::Split, row!["", ""], list(&[""]));
    check(F::Split, row!["a🦆b", "x*"], list(&["a", "🦆", "b", ""]));
    check(F::Split, row![null(), ","], Scalar::Null(DataType::new_list(TEXT, true)));
}

#[test]
fn regular_expressions() {
    check(F::RegexpLike, row!["%SystemDrive%\\Users", r"%SystemDrive%\\Users.*"], true);
    check(F::RegexpLike, row!["abc", "^b"], false);
    check(F::RegexpCount, row!["Steven Jones and Stephen Smith", "Ste(v|ph)en"], 2);
    check(F::RegexpCount, row!["aaa", "a*"], 2);
    check(F::RegexpCount, row!["🦆", ""], 2);
    check(F::RegexpExtract, row!["100-200", r"(\d+)-(\d+)"], "100");
    check(F::RegexpExtract, row!["100-200", r"(\d+)-(\d+)", 2], "200");
    check(F::RegexpExtract, row!["100-200", r"(\d+)-(\d+)", 0], "100-200");
    check(F::RegexpExtract, row!["foo", r"(\d+)"], "");
    check(F::RegexpExtract, row!["b", "(a)?(b)"], "");
    check(F::RegexpReplace, row!["100-200", r"(\d+)", "num"], "num-num");
    check(F::RegexpReplace, row!["100-200", r"(\d+)-(\d+)", "$2-$1"], "200-100");
    check(F::RegexpReplace, row!["ab", "(?<first>a)", "${first}$10\\$"], "aa0$b");
    check(F::RegexpReplace, row!["aaa", "a*", "X"], "XX");
    check(F::RegexpReplace, row!["🦆a", "", "-"], "-🦆-a-");
    check(F::RegexpReplace, row!["abc", "x", "y"], "abc");
}

#[test]
fn wrong_regular_expressions() {
    let boolean = &DataType::Boolean;
    fails(F::RegexpLike, row!["a", "(a"], boolean, "'(a' is no regular expression here");
    fails(F::RegexpLike, row!["a", r"(?=a)"], boolean, "look-around");
    fails(F::RegexpExtract, row!["a", "a"], &TEXT, "no group 1 in 'a', which has 0");
    fails(F::RegexpExtract, row!["a", "a", -1], &TEXT, "no group -1");
    fails(F::RegexpReplace, row!["a", "a", "$1"], &TEXT, "names a group");
    fails(F::RegexpReplace, row!["a", "a", "${x}"], &TEXT, "names a group");
    fails(F::RegexpReplace, row!["a", "a", "x\\"], &TEXT, "ends with a \\");
}

#[test]
fn digests() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    check(F::Sha2, row!["abc"], abc);
    check(F::Sha2, row!["abc", 0], abc);
    check(F::Sha2, row![b"abc".as_slice(), 256], abc);
    let short = "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7";
    check(F::Sha2, row!["abc", 224], short);
    fails(F::Sha2, row!["abc", 128], &TEXT, "no digest of 128 bits");
}

fn text(function: F, args: &[Scalar]) -> String {
    match value(function, args, &TEXT) {
        Ok(Scalar::Utf8(text)) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Characters `from..to` by position, whatever these are.
fn plain_part(string: &str, from: i64, to: i64) -> String {
    let within = |(at, _): &(i64, char)| (from..to).contains(at);
    (0..).zip(string.chars()).filter(within).map(|(_, character)| character).collect()
}

proptest! {
    #[test]
    fn substrings_are_those_of_characters(string in "[a-c é🦆]{0,30}", from in -35i64..35, length in -3i64..35) {
        let characters = string.chars().count() as i64;
        let start = if from > 0 { from - 1 } else if from < 0 { characters + from } else { 0 };
        let expected = plain_part(&string, start, start + length);
        prop_assert_eq!(text(F::Substring, row![&*string, from, length]), expected);
        prop_assert_eq!(text(F::Left, row![&*string, from]), plain_part(&string, 0, from));
        let right = plain_part(&string, characters - from.max(0), characters);
        prop_assert_eq!(text(F::Right, row![&*string, from]), right);
    }

    #[test]
    fn other_functions_agree_with_plain_code(
        string in "[abA é🦆ßΣ,]{0,30}", other in "[ab,🦆]{1,2}", with in "[x🦆]{0,2}", number in -4i64..5,
    ) {
        prop_assert_eq!(text(F::Lower, row![&*string]), string.to_lowercase());
        prop_assert_eq!(text(F::Upper, row![&*string]), string.to_uppercase());
        prop_assert_eq!(text(F::Replace, row![&*string, &*other, &*with]), string.replace(&other, &with));
        prop_assert_eq!(text(F::Reverse, row![&*string]), string.chars().rev().collect::<String>());
        prop_assert_eq!(text(F::Trim, row![&*string]), string.trim_matches(' '));
        prop_assert_eq!(text(F::Trim, row![&*string, &*other]), string.trim_matches(|c| other.contains(c)));

        let parts: Vec<&str> = string.split(&*other).collect();
        check(F::Split, row![&*string, &*other], list(&parts));
        if number != 0 {
            let index = if number > 0 { number - 1 } else { parts.len() as i64 + number };
            let expected = usize::try_from(index).ok().and_then(|index| parts.get(index)).copied().unwrap_or("");
            prop_assert_eq!(text(F::SplitPart, row![&*string, &*other, number]), expected);
        }
        let found = string.find(&*other).map_or(0, |byte| string[..byte].chars().count() as i32 + 1);
        check(F::Position, row![&*string, &*other], found);
        check(F::Contains, row![&*string, &*other], found > 0);
        check(F::Length, row![&*string], string.chars().count() as i32);
    }

    #[test]
    fn padding_gives_the_length(string in "[a🦆]{0,10}", fill in "[b🦆]{1,3}", length in -2i64..20) {
        let characters = string.chars().count() as i64;
        let kept = plain_part(&string, 0, length);
        let filled: String = fill.chars().cycle().take((length - characters).max(0) as usize).collect();
        prop_assert_eq!(text(F::LPad, row![&*string, length, &*fill]), format!("{filled}{kept}"));
        prop_assert_eq!(text(F::RPad, row![&*string, length, &*fill]), format!("{kept}{filled}"));
    }
}
