//! Values that do not keep large input buffers alive: few values of many buffers, such as the keys of a
//! table or of a sample.

use std::any::Any;

use crate::rdd::Data;
use crate::text::{Gathered, Text};

/// The value, detached from the buffer that it came in.
pub(crate) fn compact<T: Data>(value: T) -> T {
    let mut value = value;
    compact_in_place(&mut value);
    value
}

fn compact_in_place<T: Data>(value: &mut T) {
    if !std::mem::needs_drop::<T>() || (value as &dyn Any).is::<String>() {
        return;
    }
    if let Some(text) = text_of(value) {
        *text = text.compact();
        return;
    }
    // Outside a decode scope whatever comes from a shared buffer is copied. A value that does not
    // survive its own encoding stays as it is.
    let copy = postcard::to_stdvec(value).ok().and_then(|bytes| postcard::from_bytes(&bytes).ok());
    if let Some(copy) = copy {
        *value = copy;
    }
}

/// [`compact`] for the values that `value` finds in the `slots` of these numbers. Strings come to lie in
/// one buffer, one after the other: one allocation for all of them, and near each other in memory.
pub(crate) fn compact_each<S, T: Data>(
    slots: &mut [S],
    numbers: &[u32],
    value: impl Fn(&mut S) -> Option<&mut T>,
) {
    let mut gathered = Gathered::default();
    for number in numbers {
        let Some(value) = value(&mut slots[*number as usize]) else { continue };
        match text_of(value) {
            Some(text) => gathered.add(text),
            None => compact_in_place(value),
        }
    }
    let mut gathered = gathered.share();
    for number in numbers {
        if let Some(text) = value(&mut slots[*number as usize]).and_then(text_of) {
            gathered.replace(text);
        }
    }
}

fn text_of<T: 'static>(value: &mut T) -> Option<&mut Text> {
    (value as &mut dyn Any).downcast_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compact_key_lets_its_buffer_go() {
        let line = Text::from("a line that is much longer than one of its words, the inlineable");
        let word = line.slice(2..20).unwrap();
        assert_eq!(compact(word.clone()), word);
        assert_eq!(compact((word.clone(), 3u8)), (word, 3u8));
    }
}
