use super::*;

const RTT: Duration = Duration::from_millis(50);

/// Bytes of the states that have arrived, with what both ends send until `until`; `each` may send more.
fn exchange(until: Time, mut each: impl FnMut(Time, &mut Messages)) -> (Messages, Vec<(PacketId, Vec<u8>)>) {
    let (mut here, mut there) = (Messages::new(Time(0), 2048), Messages::new(Time(0), 2048));
    let mut arrived = Vec::new();
    // What is under way, each way, with when it arrives.
    let mut on_way: [alloc::collections::VecDeque<(Time, Body)>; 2] = Default::default();
    for ms in 0..until.0 / 1_000 {
        let now = Time(1_000 * ms);
        each(now, &mut here);
        while on_way[0].front().is_some_and(|(at, _)| now >= *at) {
            let (_, body) = on_way[0].pop_front().expect("one");
            there.receive(&body).expect("a packet");
        }
        while on_way[1].front().is_some_and(|(at, _)| now >= *at) {
            let (_, body) = on_way[1].pop_front().expect("one");
            here.receive(&body).expect("a packet");
        }
        arrived.extend(core::iter::from_fn(|| there.poll_message()));
        for (end, way) in [&mut here, &mut there].into_iter().zip(&mut on_way) {
            while let Some((body, _)) = end.poll_packet(now, 2 * RTT) {
                way.push_back((now.plus(RTT / 2), body));
            }
        }
    }
    (here, arrived)
}

#[test]
fn a_state_that_changes_a_hundred_thousand_times_queues_one_message_and_arrives_as_it_is_last() {
    let mut number = 0_u32;
    let (here, arrived) = exchange(Time(20_000_000), |now, here| {
        for _ in 0..if now < Time(10_000_000) { 10 } else { 0 } {
            number += 1;
            here.send(PacketId::Lobby, &number.to_le_bytes());
            assert!(here.queued() <= 2, "{}", here.queued());
        }
    });
    assert_eq!(number, 100_000);
    assert!(here.is_idle() && !here.is_broken());
    assert_eq!(arrived.last(), Some(&(PacketId::Lobby, number.to_le_bytes().to_vec())));
    assert!((20..=27).contains(&arrived.len()), "five at once and two a second: {}", arrived.len());
}

#[test]
fn states_that_nobody_acknowledges_break_nothing() {
    let mut here = Messages::new(Time(0), 2048);
    for number in 0..1_000_u32 {
        for id in STATES {
            here.send(id, &number.to_le_bytes());
            while here.poll_packet(Time(u64::from(number) * 100_000), RTT).is_some() {}
        }
    }
    assert!(!here.is_broken() && here.queued() <= 2 * STATES.len(), "{}", here.queued());
}

#[test]
fn states_of_different_kinds_leave_in_order_and_a_seating_replaces_a_lobby() {
    let mut wants = alloc::vec![PacketId::Choice, PacketId::Choice];
    wants.extend([PacketId::Lobby, PacketId::Lobby, PacketId::Seating]);
    let mut sends = wants.clone().into_iter();
    let (_, arrived) = exchange(Time(2_000_000), |_, here| sends.by_ref().for_each(|id| here.send(id, &[7])));
    let ids: Vec<PacketId> = arrived.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [PacketId::Choice, PacketId::Seating]);
}

#[test]
fn a_farewell_is_the_last_word() {
    let mut sends = alloc::vec![PacketId::Choice, PacketId::Bye].into_iter();
    let (_, arrived) = exchange(Time(1_000_000), |_, here| sends.by_ref().for_each(|id| here.send(id, &[7])));
    assert_eq!(arrived, [(PacketId::Bye, alloc::vec![7])]);
}
