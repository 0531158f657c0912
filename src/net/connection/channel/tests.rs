use super::*;
use alloc::vec;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::super::rtt::Rtt;

/// A path in virtual time: 20 % loss each way, 5 % duplicates, 20 ms and up to 100 ms of jitter, so that datagrams
/// overtake each other.
struct Path {
    rng: ChaCha8Rng,
    /// Arrival time, receiving end, and packet.
    flying: Vec<(Time, usize, Body)>,
    packets: usize,
}

const LOST_PERCENT: u64 = 20;
const REPEATED_PERCENT: u64 = 5;
const LEAST_US: u64 = 20_000;
const JITTER_US: u64 = 100_000;
/// No answer can arrive later than this.
const ROUND_TRIP_MAX: Duration = Duration::from_micros(2 * (LEAST_US + JITTER_US));

impl Path {
    fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), flying: Vec::new(), packets: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound
    }

    fn send(&mut self, now: Time, to: usize, packet: &Body) {
        self.packets += 1;
        let copies = 1 + usize::from(self.below(100) < REPEATED_PERCENT);
        for _ in 0..copies {
            if self.below(100) >= LOST_PERCENT {
                let delay = LEAST_US + self.below(JITTER_US);
                self.flying.push((Time(now.0 + delay), to, packet.clone()));
            }
        }
    }

    fn next_arrival(&self) -> Option<Time> {
        self.flying.iter().map(|&(at, ..)| at).min()
    }

    fn arrive(&mut self, now: Time) -> Vec<(usize, Body)> {
        let (come, flying) = core::mem::take(&mut self.flying).into_iter().partition(|&(at, ..)| at <= now);
        self.flying = flying;
        let come: Vec<(Time, usize, Body)> = come;
        come.into_iter().map(|(_, to, packet)| (to, packet)).collect()
    }
}

/// The measurements of a run.
struct Delivery {
    took: Time,
    /// From [`Channel::send`] to [`Channel::poll_message`], in microseconds, sorted.
    delays_us: Vec<u64>,
}

impl Delivery {
    fn p99_us(&self) -> u64 {
        self.delays_us[self.delays_us.len() * 99 / 100]
    }
}

/// Sends `count` messages of `length` bytes, the next one when `every` has passed and fewer than `queued` are
/// waiting, and checks that they arrive in order and exactly once. `timeout` is fixed, or estimated from
/// round trips as in a session.
fn deliver(
    seed: u64,
    count: u32,
    length: usize,
    queued: usize,
    every: Duration,
    timeout: Option<Duration>,
) -> Delivery {
    let mut path = Path::new(seed);
    let mut ends = [Channel::new(length), Channel::new(length)];
    let (mut now, mut sent, mut came) = (Time(0), 0_u32, 0_u32);
    let (mut sent_at, mut delays_us) = (Vec::new(), Vec::new());
    let mut rtt = Rtt::default();
    let (mut pings, mut ping_at) = (Vec::<(Time, Time)>::new(), Time(0));
    let mut send_at = Time(0);
    while came < count {
        while sent < count && now >= send_at && ends[0].queued_messages < queued {
            let mut message = vec![sent as u8; length];
            message[..4].copy_from_slice(&sent.to_le_bytes());
            ends[0].send(&message).expect("room");
            sent_at.push(now);
            sent += 1;
            send_at = now.plus(every);
        }
        if now >= ping_at {
            rtt.ping(now);
            let trip = 2 * LEAST_US + path.below(JITTER_US) + path.below(JITTER_US);
            pings.push((Time(now.0 + trip), now));
            ping_at = now.plus(Duration::from_millis(500));
        }
        pings.retain(|&(back, left)| back > now || rtt.answer(back, left).is_none());
        let timeout = timeout.unwrap_or_else(|| rtt.message_timeout(Duration::from_millis(20)));
        for (end, to) in [(0, 1), (1, 0)] {
            while let Some((packet, _)) = ends[end].poll_packet(now, timeout) {
                path.send(now, to, &packet);
            }
        }
        let due = [path.next_arrival(), ends[0].poll_timeout(timeout), Some(ping_at)];
        let more = (sent < count && ends[0].queued_messages < queued).then_some(send_at);
        now = due.into_iter().chain([more]).flatten().min().expect("a ping").max(now);
        for (end, packet) in path.arrive(now) {
            ends[end].receive(&packet).expect("what the other end sent");
            while let Some(message) = ends[end].poll_message().expect("short enough") {
                assert_eq!((end, &message[..4]), (1, &came.to_le_bytes()[..]), "in order and once");
                assert_eq!(message.len(), length);
                delays_us.push(now.since(sent_at[came as usize]).as_micros() as u64);
                came += 1;
            }
        }
        assert!(now < Time(40_000_000_000), "{came} of {count} after {now:?}");
    }
    let waiting: usize = ends[0].outgoing.iter().map(|fragment| fragment.bytes.len()).sum();
    assert_eq!(ends[0].queued_bytes, waiting, "what is acknowledged makes room");
    delays_us.sort_unstable();
    Delivery { took: now, delays_us }
}

#[test]
fn ten_thousand_messages_arrive_in_order_and_once() {
    let all = |timeout| deliver(1, 10_000, 40, 32, Duration::ZERO, timeout);
    let (estimated, known) = (all(None), all(Some(ROUND_TRIP_MAX)));
    assert!(estimated.took.0 * 10 <= known.took.0 * 13, "{:?} instead of {:?}", estimated.took, known.took);
}

#[test]
fn a_single_message_arrives_within_a_round_trip() {
    let one = |timeout| deliver(2, 10_000, 40, usize::MAX, Duration::from_secs(1), timeout);
    let (estimated, known) = (one(None), one(Some(ROUND_TRIP_MAX)));
    let (p99, least) = (estimated.p99_us(), known.p99_us());
    assert!(p99 * 10 <= least * 13, "p99 {p99} us instead of {least} us");
}

#[test]
fn a_long_message_arrives_whole() {
    for length in [FRAGMENT_BYTES - 1, FRAGMENT_BYTES, FRAGMENT_BYTES + 1, 300 * FRAGMENT_BYTES + 7] {
        deliver(3, 3, length, 3, Duration::ZERO, None);
    }
}

#[test]
fn an_end_that_acknowledges_nothing_costs_bounded_memory_and_decreasing_traffic() {
    let (mut channel, mut now, mut packets) = (Channel::new(100), Time(0), Vec::new());
    let timeout = Duration::from_millis(50);
    let mut refused = 0;
    for second in 0..100_u64 {
        for _ in 0..10 {
            refused += u32::from(channel.send(&[7; 900]).is_err());
        }
        let before = packets.len();
        while now < Time(1_000_000 * (second + 1)) {
            while channel.poll_packet(now, timeout).is_some() {
                packets.push(now);
            }
            now = channel.poll_timeout(timeout).expect("something waits");
        }
        assert!(
            second < 5 || packets.len() - before <= 2 * WINDOW,
            "second {second}: {}",
            packets.len() - before
        );
    }
    assert_eq!(refused, 1000 - QUEUED_MESSAGES_MAX as u32);
    assert_eq!(channel.outgoing.len(), QUEUED_MESSAGES_MAX);
    let whole = vec![1; QUEUED_BYTES_MAX];
    assert!(channel.send(&whole).is_err() && Channel::new(1).send(&whole).is_ok());
}

#[test]
fn packets_that_no_peer_sends_are_refused() {
    let packet = |next: u16, mask, number: u16, fragments: &[(u16, usize)]| {
        let mut body = Body::new();
        body.extend(next.to_le_bytes());
        body.push(mask);
        body.extend(number.to_le_bytes());
        for &(length, bytes) in fragments {
            body.extend(length.to_le_bytes());
            body.extend(core::iter::repeat_n(9, bytes));
        }
        body
    };
    let receive = |body: &[u8]| Channel::new(2000).receive(body);
    let malformed = |body: &[u8]| assert_eq!(receive(body), Err(ChannelError::Malformed(body.len())));
    assert_eq!(receive(&[0, 0, 0]), Ok(()));
    for length in [0, 1, 2, 4, 5, 6] {
        malformed(&[0; 6][..length]);
    }
    malformed(&packet(0, 0, 0, &[(LAST, 0)]));
    malformed(&packet(0, 0, 0, &[(LAST | 5, 4)]));
    malformed(&packet(0, 0, 0, &[(5, 5)]));
    malformed(&packet(0, 0, 0, &[(LAST | (FRAGMENT_BYTES as u16 + 1), FRAGMENT_BYTES + 1)]));
    malformed(&packet(0, 0, 0, &[(1 << 14, 1)]));
    assert_eq!(receive(&packet(0, 0, 0, &[(LAST | 5, 5), (LAST | 2, 2)])), Ok(()));
    assert_eq!(receive(&packet(0, 0, 8, &[(LAST | 5, 5)])), Err(ChannelError::BeyondWindow(8)));
    assert_eq!(receive(&packet(0, 0, u16::MAX, &[(LAST | 5, 5)])), Ok(()), "a duplicate");
    assert_eq!(receive(&packet(1, 0, 0, &[(LAST | 5, 5)])), Err(ChannelError::NeverSent(1)));
    let mut channel = Channel::new(1500);
    channel.receive(&packet(0, 0, 0, &[(FRAGMENT_BYTES as u16, FRAGMENT_BYTES)])).expect("a first fragment");
    assert_eq!(channel.poll_message(), Ok(None));
    channel.receive(&packet(0, 0, 1, &[(LAST | 501, 501)])).expect("a last fragment");
    assert_eq!(channel.poll_message(), Err(ChannelError::TooLong(1500)));
    channel.receive(&packet(0, 0, 2, &[(LAST | 3, 3)])).expect("a message");
    assert_eq!(channel.poll_message(), Ok(Some(vec![9; 3])), "the next one arrives");
}

#[test]
fn no_bytes_panic_and_what_arrives_stays_bounded() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut channel = Channel::new(3000);
    for case in 0..200_000_u32 {
        if case % 7 == 0 {
            let _ = channel.send(&[case as u8; 20]);
            let _ = channel.poll_packet(Time(u64::from(case) * 10_000), Duration::from_millis(30));
        }
        let mut body = vec![0; (rng.next_u32() % 40) as usize];
        rng.fill_bytes(&mut body);
        // Half of them are nearly valid.
        if let [next, high, _, number, number_high, ..] = &mut body[..]
            && case % 2 == 0
        {
            (*next, *high) =
                (channel.first.wrapping_add(u16::from(*next) % 4) as u8, (channel.first >> 8) as u8);
            let near = channel.next.wrapping_add(u16::from(*number) % 10).to_le_bytes();
            [*number, *number_high] = near;
        }
        let _ = channel.receive(&body);
        while let Some(message) = channel.poll_message().transpose() {
            assert!(message.is_ok_and(|message| message.len() <= 3000) || channel.partial.is_empty());
        }
        assert!(channel.outgoing.len() <= QUEUED_MESSAGES_MAX && channel.partial.len() <= 3000);
    }
}
