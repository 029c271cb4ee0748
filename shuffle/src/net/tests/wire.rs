//! What comes over the wire is parsed or refused, and is never more than it says.

use arrow_flight::{FlightData, Ticket};
use proptest::prelude::*;
use tonic::Status;

use super::*;
use crate::net::wire::{self, Message};

fn want() -> impl Strategy<Value = Want> {
    let maps = prop::collection::vec(any::<(u32, u64)>(), 0..20);
    let all = (any::<u64>(), any::<u32>(), maps, any::<Option<String>>());
    all.prop_map(|(shuffle, partition, maps, owner)| Want { shuffle, partition, maps, owner })
}

proptest! {
    #[test]
    fn wants_come_as_they_were_sent(want in want()) {
        let ticket = wire::ticket(&want).unwrap();
        prop_assert_eq!(wire::want(&ticket), Ok(want));
        let mut longer = ticket.ticket.to_vec();
        longer.push(0);
        let longer = wire::want(&Ticket { ticket: longer.into() });
        prop_assert!(longer.is_err());
        let shorter = ticket.ticket.slice(..ticket.ticket.len() - 1);
        let shorter = wire::want(&Ticket { ticket: shorter });
        prop_assert!(shorter.is_err());
    }

    #[test]
    fn any_ticket_is_parsed_or_refused(bytes: Vec<u8>) {
        if let Ok(want) = wire::want(&Ticket { ticket: bytes.into() }) {
            let again = wire::want(&wire::ticket(&want).unwrap());
            prop_assert_eq!(again, Ok(want));
        }
    }

    #[test]
    fn frames_come_as_they_were_sent(
        frames in prop::collection::vec(any::<(u32, u32, Vec<u8>, bool)>(), 0..20),
    ) {
        let mut message = Message::default();
        for (map, rows, block, last) in &frames {
            message.blocks.extend_from_slice(block);
            message.push(FrameHead { map: *map, rows: *rows, last: *last }, block.len());
        }
        let sent: Vec<_> = frames
            .into_iter()
            .map(|(map, rows, block, last)| Frame { map, rows, bytes: block.into(), last })
            .collect();
        prop_assert_eq!(wire::frames(message.into_flight()), Ok(sent));
    }

    #[test]
    fn any_message_is_parsed_whole_or_refused(heads: Vec<u8>, mut body: Vec<u8>, cut: usize) {
        body.truncate(cut % (body.len() + 1));
        let len = body.len();
        let data = FlightData {
            app_metadata: heads.into(),
            data_body: body.into(),
            ..FlightData::default()
        };
        if let Ok(frames) = wire::frames(data) {
            prop_assert_eq!(frames.iter().map(|frame| frame.bytes.len()).sum::<usize>(), len);
        }
    }

    #[test]
    fn refusals_come_as_they_were_sent(map: u32, why in ".{0,200}") {
        for refusal in [
            Refusal::Missing { map },
            Refusal::Damaged { map, why: why.clone() },
            Refusal::Busy,
            Refusal::Other(why),
        ] {
            prop_assert_eq!(wire::refusal(&wire::status(refusal.clone())), Some(refusal));
        }
    }
}

#[test]
fn a_long_explanation_is_cut_to_fit_and_a_foreign_status_is_no_refusal() {
    let refusal = wire::refusal(&wire::status(Refusal::Other("ä".repeat(100_000))));
    let Some(Refusal::Other(why)) = refusal else { panic!("{refusal:?}") };
    assert_eq!(why, "ä".repeat(512));
    assert_eq!(wire::refusal(&Status::unavailable("connection reset")), None);
}

#[test]
fn a_block_and_its_frame_must_agree() {
    let mut block = Vec::new();
    BlockEncoder::new(Codec::Lz4).unwrap().encode(b"payload", 3, &mut block).unwrap();
    let frame = Frame { map: 1, rows: 3, bytes: block.clone().into(), last: false };
    let decode = |frame: &Frame| {
        let mut payload = Vec::new();
        frame.decode_into(&mut BlockDecoder::new(), &mut payload).map(|rows| (rows, payload))
    };
    assert_eq!(decode(&frame), Ok((3, b"payload".to_vec())));
    assert!(decode(&Frame { rows: 4, ..frame.clone() }).is_err());
    block.push(0);
    assert!(decode(&Frame { bytes: block.into(), ..frame }).is_err());
}
