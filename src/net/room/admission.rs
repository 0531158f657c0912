//! Admission: who may take a seat, in which order, and who loses one to somebody who asks for it. The same for
//! hosts and servers.
//!
//! Guests who were refused while no seat was free wait in a line. Who lost a seat through its own fault goes to
//! the back of it for a while: as long as nobody else asks, it may have its seat back.

use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use crate::connection::limits::network;
use crate::mutation::Mutation;
use crate::time::Time;
use crate::wire::message::{Refusal, Seats};
use sim::{PLAYERS_MAX, PlayerId};

/// Time from the first Seating until every guest must have acknowledged it; a guest that has not loses its
/// seat.
pub(crate) const READY_WITHIN: Duration = Duration::from_secs(5);

/// Time for which a guest may keep a full room waiting before it loses its seat to one who asks, unless the host
/// sets another. Somebody who waits asks once a second, so nobody keeps him waiting for longer than 30 s.
pub const READY_WITHIN_USUAL: Duration = Duration::from_secs(25);
/// First wait of a guest that has lost a seat through its own fault, while others ask for one; doubled each time.
const PENALTY_FIRST: Duration = Duration::from_secs(60);
/// Longest such wait.
const PENALTY_LONGEST: Duration = Duration::from_secs(3600);
/// Most penalties that are remembered; the first to end gives way.
const PENALTIES_MAX: usize = 64;
/// Interval at which a guest in the line asks.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(1);
/// Time after its last question for which a guest keeps its place in the line.
const IN_LINE_FOR: Duration = Duration::from_secs(3);
/// Time after which somebody who was refused no longer counts as asking, for those with a penalty: people ask again by
/// hand.
const ASKS_FOR: Duration = Duration::from_secs(60);
/// Most guests in the line; the one whose last question is the oldest gives way.
const LINE_MAX: usize = 16;
/// Longest time between two looks at the lobby that counts as waiting: the host may have been suspended.
const WATCH_MAX: Duration = Duration::from_secs(1);

/// Whether `ip` belongs to this computer: loopback, unspecified, or one of its `own` addresses as far as the
/// caller knows them.
pub(crate) fn is_local(ip: IpAddr, own: &[IpAddr]) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified() || own.iter().any(|own| own.to_canonical() == ip)
}

/// Returns how many of the `open` seats, those that any guest may take, a single remote address may have: all but
/// one, and at least one.
pub(crate) const fn seats_per_address(open: u8) -> u8 {
    if open > 1 { open - 1 } else { 1 }
}

/// Whether a guest at `ip` may take one more of `open` seats, given the addresses of the guests already
/// `seated`.
pub(crate) fn may_sit(ip: IpAddr, own: &[IpAddr], seated: impl Iterator<Item = IpAddr>, open: u8) -> bool {
    let has = seated.filter(|other| other.to_canonical() == ip.to_canonical()).count();
    is_local(ip, own) || has < usize::from(seats_per_address(open))
}

/// Rules by which a host or a server gives seats to guests.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmissionRules {
    /// Whether guests at one address are taken for different people, so that one address may take every seat. A room
    /// code has the same effect.
    pub shared_address: bool,
    /// Time for which a guest may keep a full room waiting before it loses its seat to one who asks; `None` leaves it to
    /// the host's player. See [`READY_WITHIN_USUAL`].
    pub ready_within: Option<Duration>,
}

/// A guest as far as the host can tell it from others: its network, and its port where guests of one address are
/// taken for different people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    network: u64,
    port: Option<u16>,
}

/// The seats of a lobby.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Occupancy {
    pub(crate) seats: u8,
    /// Seats that nobody can take.
    pub(crate) taken: Seats,
    /// Those of guests who are not ready.
    pub(crate) unready: Seats,
}

/// A seat for a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) player: PlayerId,
    /// Whether somebody who has kept the room waiting for too long must leave it first.
    pub(crate) evicts: bool,
}

#[derive(Clone, Copy, Debug)]
struct Penalty {
    party: Party,
    until: Time,
    length: Duration,
}

/// A guest that was refused.
#[derive(Clone, Copy, Debug)]
struct Asking {
    party: Party,
    since: Time,
    asked: Time,
}

/// The line of those who wait for a seat, and the book of those who must.
#[derive(Debug)]
pub(crate) struct Admission {
    /// Time for which a guest may keep a full room waiting; `None` leaves it to the host's player.
    ready_within: Option<Duration>,
    penalties: ArrayVec<Penalty, PENALTIES_MAX>,
    line: ArrayVec<Asking, LINE_MAX>,
    /// Time for which the guest in this seat was not ready while all seats were taken.
    unready: [Duration; PLAYERS_MAX],
    watched_at: Time,
}

impl Party {
    /// The guest at `from`.
    pub(crate) fn new(from: SocketAddr, tells_apart: bool) -> Self {
        Self { network: network(from.ip()), port: tells_apart.then_some(from.port()) }
    }
}

impl Occupancy {
    fn free(self) -> Seats {
        (0..self.seats).map(PlayerId).collect::<Seats>().difference(self.taken)
    }
}

impl Admission {
    pub(crate) fn new(now: Time, ready_within: Option<Duration>) -> Self {
        let (penalties, line) = (ArrayVec::new(), ArrayVec::new());
        Self { ready_within, penalties, line, unready: [Duration::ZERO; PLAYERS_MAX], watched_at: now }
    }

    /// Notes that this guest has lost its seat through its own fault: it was unready, silent, removed, or flooded.
    pub(crate) fn penalise(&mut self, now: Time, party: Party) {
        if Mutation::HeldRoom.is_planted() {
            return;
        }
        let known = self.penalties.iter().position(|penalty| penalty.party == party);
        let before = known.map(|at| self.penalties.swap_remove(at));
        // A penalty is remembered for as long again.
        let repeated = before.filter(|before| now < before.until.plus(before.length));
        let length = repeated.map_or(PENALTY_FIRST, |before| (before.length * 2).min(PENALTY_LONGEST));
        if self.penalties.is_full()
            && let Some(at) =
                (0..self.penalties.len()).min_by_key(|&at| self.penalties.get(at).map(|it| it.until))
        {
            self.penalties.swap_remove(at);
        }
        self.penalties.push(Penalty { party, until: now.plus(length), length });
    }

    /// Counts the time for which guests who are not ready have kept a full room waiting. Returns that for which
    /// somebody in the line waited.
    pub(crate) fn watch(&mut self, now: Time, occupancy: Occupancy) -> Duration {
        let passed = now.since(self.watched_at).min(WATCH_MAX);
        self.watched_at = self.watched_at.max(now);
        if !occupancy.free().is_empty() || occupancy.unready.is_empty() {
            return Duration::ZERO;
        }
        for player in occupancy.unready.iter() {
            if let Some(unready) = self.unready.get_mut(player.index()) {
                *unready = unready.saturating_add(passed);
            }
        }
        let waits = |asking: &Asking| now.since(asking.asked) < IN_LINE_FOR;
        if self.line.iter().any(waits) { passed } else { Duration::ZERO }
    }

    /// Decides whether this guest gets a seat: the one it wants, or the lowest that is free. If it gets none it is in
    /// the line from now on.
    pub(crate) fn decide(
        &mut self,
        now: Time,
        party: Party,
        wanted: Option<u8>,
        occupancy: Occupancy,
    ) -> Result<Grant, Refusal> {
        self.watch(now, occupancy);
        let since = self.ask(now, party);
        let free = occupancy.free();
        let is_wanted = |player: &PlayerId| wanted.is_none_or(|seat| seat == player.0);
        let (penalty, ahead) = (self.penalty(now, party), self.ahead(now, party, since));
        if let Some(player) = free.iter().find(is_wanted) {
            if ahead < free.count() as usize {
                return Ok(Grant { player, evicts: false });
            }
            return Err(later(penalty.unwrap_or(ASK_EVERY)));
        }
        let held = |player: PlayerId| self.unready.get(player.index()).copied().unwrap_or_default();
        let worst = occupancy.unready.iter().filter(is_wanted).max_by_key(|&player| held(player));
        let ready_within = self.ready_within.filter(|_| !Mutation::HeldRoom.is_planted());
        let deadline = ready_within.filter(|_| free.is_empty()).zip(worst);
        match (deadline, wanted) {
            (Some((within, player)), _) if held(player) >= within && penalty.is_none() && ahead == 0 => {
                Ok(Grant { player, evicts: true })
            }
            (Some((within, player)), _) => {
                Err(later(penalty.unwrap_or(ASK_EVERY).max(within.saturating_sub(held(player)))))
            }
            (None, Some(seat)) => {
                // It waits for no seat that anybody else could have.
                self.line.retain(|asking| asking.party != party);
                Err(Refusal::Seat { seat, seats: occupancy.seats })
            }
            (None, None) => Err(Refusal::Full { seats: occupancy.seats }),
        }
    }

    /// The answer to a guest that asks while all seats are taken and the match has not begun.
    pub(crate) fn ask_later(&mut self, now: Time, party: Party) -> Refusal {
        self.ask(now, party);
        later(READY_WITHIN)
    }

    /// Notes that this guest has this seat. With a penalty it has it for as long as nobody else asks.
    pub(crate) fn seated(&mut self, now: Time, party: Party, player: PlayerId) {
        self.line.retain(|asking| asking.party != party);
        let held = self.penalty(now, party).and(self.ready_within).unwrap_or_default();
        if let Some(unready) = self.unready.get_mut(player.index()) {
            *unready = held;
        }
    }

    /// Puts this guest into the line, or notes that it still is there. Returns since when it is.
    fn ask(&mut self, now: Time, party: Party) -> Time {
        let known = self.line.iter().position(|asking| asking.party == party);
        let before = known.map(|at| self.line.swap_remove(at));
        let since = before.filter(|before| now.since(before.asked) < IN_LINE_FOR).map_or(now, |it| it.since);
        if self.line.is_full()
            && let Some(at) = (0..self.line.len()).min_by_key(|&at| self.line.get(at).map(|it| it.asked))
        {
            self.line.swap_remove(at);
        }
        self.line.push(Asking { party, since, asked: now });
        since
    }

    /// Time for which this guest goes to the back.
    fn penalty(&self, now: Time, party: Party) -> Option<Duration> {
        let penalty = self.penalties.iter().find(|penalty| penalty.party == party && now < penalty.until)?;
        Some(penalty.until.since(now))
    }

    /// Number of others that come before this guest, which has asked since then.
    fn ahead(&self, now: Time, party: Party, since: Time) -> usize {
        let is_back = self.penalty(now, party).is_some();
        let is_ahead = |other: &&Asking| {
            let asked = now.since(other.asked);
            match (is_back, self.penalty(now, other.party).is_some()) {
                (true, false) => asked < ASKS_FOR,
                (false, true) => false,
                _ => asked < IN_LINE_FOR && other.since < since,
            }
        };
        self.line.iter().filter(|other| other.party != party).filter(is_ahead).count()
    }
}

/// The refusal of a guest that may have a seat after about this time.
fn later(after: Duration) -> Refusal {
    let seconds = after.as_millis().div_ceil(1_000);
    Refusal::Later { seconds: u16::try_from(seconds).unwrap_or(u16::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn an_address_may_take_all_seats_but_one_unless_it_is_local() {
        let remote = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
        let mapped = IpAddr::V6(Ipv4Addr::new(10, 0, 0, 7).to_ipv6_mapped());
        let loopback = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let may = |ip, seated: &[IpAddr], open| may_sit(ip, &[], seated.iter().copied(), open);
        assert!(may(remote, &[], 2) && !may(remote, &[remote], 2) && may(remote, &[loopback], 2));
        assert!(may(remote, &[mapped, loopback], 4) && !may(mapped, &[remote; 3], 4));
        assert!(may(remote, &[], 1), "the only seat");
        assert!(may(loopback, &[loopback; 3], 4));
        assert!(may_sit(mapped, &[remote], [remote; 3].into_iter(), 4), "its own address");
    }

    const BEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), 40_000);
    const MAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 8)), 40_000);

    fn party(from: SocketAddr) -> Party {
        Party::new(from, false)
    }

    fn seconds(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    /// Two seats, of which the host has one; seat 1 is taken by somebody who is ready or not, or free.
    fn seats(guest: Option<bool>) -> Occupancy {
        let one = Seats::one(PlayerId(1));
        let taken = guest.map_or(Seats::default(), |_| one).with(PlayerId(0));
        Occupancy { seats: 2, taken, unready: if guest == Some(false) { one } else { Seats::default() } }
    }

    fn is_later(answer: Result<Grant, Refusal>) -> bool {
        matches!(answer, Err(Refusal::Later { .. }))
    }

    const SEAT_1: Result<Grant, Refusal> = Ok(Grant { player: PlayerId(1), evicts: false });

    #[test]
    fn who_keeps_a_full_room_waiting_loses_the_seat_to_one_who_asks_and_to_nobody_otherwise() {
        let mut admission = Admission::new(Time(0), Some(READY_WITHIN_USUAL));
        admission.seated(Time(0), party(MAL), PlayerId(1));
        for second in 1..=24 {
            assert!(is_later(admission.decide(seconds(second), party(BEN), None, seats(Some(false)))));
        }
        let evicts = Ok(Grant { player: PlayerId(1), evicts: true });
        assert_eq!(admission.decide(seconds(25), party(BEN), None, seats(Some(false))), evicts);
        // A host with a window decides itself.
        let mut admission = Admission::new(Time(0), None);
        admission.seated(Time(0), party(MAL), PlayerId(1));
        for second in 1..=100 {
            let answer = admission.decide(seconds(second), party(BEN), None, seats(Some(false)));
            assert_eq!(answer, Err(Refusal::Full { seats: 2 }));
        }
    }

    #[test]
    fn time_without_being_ready_adds_up_and_counts_only_while_the_room_is_full() {
        let mut admission = Admission::new(Time(0), Some(READY_WITHIN_USUAL));
        admission.seated(Time(0), party(MAL), PlayerId(1));
        let mut asked = 0;
        // It is ready every second second, so the others wait for it for twice as long.
        for second in 1.. {
            let mut lobby = seats(Some(second % 2 == 0));
            admission.watch(seconds(second), lobby);
            lobby.unready = Seats::one(PlayerId(1));
            if admission.decide(seconds(second), party(BEN), None, lobby).is_ok() {
                break;
            }
            asked = second;
        }
        assert!((45..=51).contains(&asked), "{asked} s");
        let three = Occupancy { seats: 3, ..seats(Some(false)) };
        let mut admission = Admission::new(Time(0), Some(READY_WITHIN_USUAL));
        admission.seated(Time(0), party(MAL), PlayerId(1));
        for second in 0..1_000 {
            admission.watch(seconds(second), three);
        }
        assert!(is_later(admission.decide(seconds(1_000), party(BEN), None, seats(Some(false)))));
    }

    #[test]
    fn who_lost_a_seat_waits_while_others_ask_for_twice_as_long_each_time() {
        let mut admission = Admission::new(Time(0), Some(READY_WITHIN_USUAL));
        let mut now = 0;
        for wait in [60, 120, 240] {
            admission.penalise(seconds(now), party(MAL));
            // Nobody else asks.
            assert_eq!(admission.decide(seconds(now), party(MAL), None, seats(None)), SEAT_1);
            assert!(
                is_later(admission.decide(seconds(now), party(BEN), None, seats(Some(false)))) || wait > 60
            );
            let mut after = 0;
            while admission.decide(seconds(now + after), party(MAL), None, seats(None)) != SEAT_1 {
                after += 1;
                admission.ask_later(seconds(now + after), party(BEN));
                if after >= wait {
                    admission.line.clear();
                }
            }
            assert_eq!(after, wait);
            now += after;
        }
    }

    #[test]
    fn a_free_seat_is_for_those_who_have_asked_before() {
        let mut admission = Admission::new(Time(0), Some(READY_WITHIN_USUAL));
        admission.ask_later(seconds(1), party(BEN));
        assert!(is_later(admission.decide(seconds(2), party(MAL), None, seats(None))));
        assert_eq!(admission.decide(seconds(2), party(BEN), None, seats(None)), SEAT_1);
        admission.seated(seconds(2), party(BEN), PlayerId(1));
        assert_eq!(admission.decide(seconds(3), party(MAL), None, seats(None)), SEAT_1);
        // Who does not ask any more is not waited for.
        admission.ask_later(seconds(10), party(BEN));
        assert_eq!(admission.decide(seconds(14), party(MAL), None, seats(None)), SEAT_1);
    }

    #[test]
    fn guests_of_one_address_are_told_apart_by_their_ports_only_where_that_is_allowed() {
        let friend = SocketAddr::new(BEN.ip(), 40_001);
        assert_eq!(Party::new(BEN, false), Party::new(friend, false));
        assert_ne!(Party::new(BEN, true), Party::new(friend, true));
    }

    #[test]
    fn the_book_and_the_line_are_bounded() {
        let mut admission = Admission::new(Time(0), Some(READY_WITHIN_USUAL));
        for n in 0..1_000 {
            let stranger = party(SocketAddr::from(([11, 0, (n >> 8) as u8, n as u8], 1)));
            admission.penalise(Time(n), stranger);
            admission.ask_later(Time(n), stranger);
        }
        assert_eq!((admission.penalties.len(), admission.line.len()), (PENALTIES_MAX, LINE_MAX));
    }
}
