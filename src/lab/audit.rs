//! What must hold in every match whatever goes wrong: the oracles of the virtual network.

use serde::Serialize;
use std::fmt;
use twox_hash::XxHash3_64;

use game::Histogram;
use net::{DATAGRAM_BYTES_MAX, DueTick, Stall, StallCause, Time};
use sim::{
    Command, INPUT_BYTES_MAX, PLAYERS_MAX, PlayerId, Selection, StateHash, Target, Tick, TickInputs, UnitId,
    When,
};

/// Most violations that one match reports; one leads to many.
const VIOLATIONS_MAX: usize = 16;
/// Most datagrams that a peer may send on one link in any second, at 60 ticks/s: two a tick, each in up to four
/// parts, and pings.
const DATAGRAMS_PER_SECOND_MAX: u32 = 500;
/// Most bytes of them.
const BYTES_PER_SECOND_MAX: u32 = 250_000;
/// Most ticks from a command to its execution, while its player is there: the longest delay, the largest
/// lead, and commands that wait for room.
const COMMAND_TICKS_MAX: u32 = 150;

/// What was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Oracle {
    /// Nothing panics.
    Panic,
    /// A tick runs with exactly one input of each seat, the same on all peers, in the order of ticks.
    Inputs,
    /// After each tick all peers have the same hash, unless a difference was planted.
    Hashes,
    /// A command runs once, in order, on all peers.
    Commands,
    /// What peers send and keep is bounded.
    Bounds,
    /// A match resumes its normal pace once faults have stopped.
    Progress,
    /// A match ends, for all peers alike, and for a reason that there was.
    Outcome,
    /// Stalled time by cause adds up to the whole, and no two stalls overlap.
    Stalls,
    /// A planted difference is found, at its tick and field, and described alike by all.
    Desync,
    /// No datagram causes more than its named number of answers.
    Answers,
    /// A guest has its seat in time.
    Seat,
    /// Nobody makes the input delay of others longer than their ways explain.
    Delay,
    /// What waits between two honest nodes is bounded, and their connection stays.
    Connection,
    /// A host that does not know the room code tests a few at a guest, and no more.
    Guesses,
}

/// An oracle that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which.
    pub oracle: Oracle,
    /// The peer that showed it.
    pub peer: usize,
    /// The next tick of that peer.
    pub tick: u32,
    /// When, in microseconds of network time.
    pub at_us: u64,
    /// The numbers.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at_us as f64 / 1e6;
        let Self { oracle, peer, tick, what, .. } = self;
        write!(f, "{oracle:?}: peer {peer} before tick {tick}, after {seconds:.3} s: {what}")
    }
}

/// The n-th numbered command of a player. It speaks to units that never live, so it changes nothing but the count;
/// now and then to others than the one before, as a player's do.
#[must_use]
pub fn numbered(n: u32) -> Command {
    let target = Target::try_from((n as i32 & 0x00ff_ffff, 0)).expect("within the map's limits");
    let units: Selection = core::iter::repeat_n(UnitId::NONE, 1 + n as usize / 3 % 2).collect();
    Command::Move(units, target, When::Now)
}

fn number_of(command: &Command) -> Option<u32> {
    let Command::Move(units, target, When::Now) = command else { return None };
    let (x, y) = <(i32, i32)>::from(*target);
    (units.iter().all(|&unit| unit == UnitId::NONE) && y == 0).then_some(x as u32)
}

/// Watches all peers of one match.
#[derive(Debug)]
pub struct Audit {
    /// Whether the peers' worlds are meant to differ.
    is_planted: bool,
    peers: Vec<PeerRecord>,
    /// What each tick ran with and led to, by peer.
    ticks: Vec<[Option<TickRecord>; PLAYERS_MAX]>,
    violations: Vec<Violation>,
}

/// What one peer has done.
#[derive(Debug)]
pub struct PeerRecord {
    /// The next tick.
    pub next: Tick,
    /// Its last tick ran then.
    pub ran_at: Time,
    /// By player: the next numbered command to run here.
    numbers: Vec<u32>,
    /// Given here, each with the next tick at that time.
    given: Vec<Tick>,
    /// Stalled time by cause, network and computer, in microseconds of the peer's clock.
    stalled_us: [u64; 2],
    stalls: u32,
    stalled_until: Time,
    second: u64,
    datagrams: u32,
    bytes: u32,
}

#[derive(Clone, Copy, Debug)]
struct TickRecord {
    inputs: u64,
    hash: u64,
    /// When its own input was sealed, on its own clock.
    sealed_at: Time,
    ran_at: Time,
}

impl Audit {
    /// For `peers` peers before tick 0.
    #[must_use]
    pub fn new(peers: usize, is_planted: bool) -> Self {
        let record = || PeerRecord {
            next: Tick(0),
            ran_at: Time(0),
            numbers: vec![0; peers],
            given: Vec::new(),
            stalled_us: [0; 2],
            stalls: 0,
            stalled_until: Time(0),
            second: 0,
            datagrams: 0,
            bytes: 0,
        };
        Self {
            is_planted,
            peers: std::iter::repeat_with(record).take(peers).collect(),
            ticks: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// What was found so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// What a peer has done.
    #[must_use]
    pub fn peer(&self, peer: usize) -> &PeerRecord {
        &self.peers[peer]
    }

    /// Notes that an oracle does not hold.
    pub fn violated(&mut self, oracle: Oracle, peer: usize, now: Time, what: String) {
        let tick = self.peers[peer].next.0;
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation { oracle, peer, tick, at_us: now.0, what });
        }
    }

    /// The number of the next command that this peer gives.
    #[must_use]
    pub fn next_number(&self, peer: usize) -> u32 {
        self.peers[peer].given.len() as u32
    }

    /// A peer has given its next numbered command.
    pub fn gave(&mut self, peer: usize) {
        let next = self.peers[peer].next;
        self.peers[peer].given.push(next);
    }

    /// A peer has run a tick.
    pub fn ran(&mut self, peer: usize, now: Time, due: &DueTick, hash: &StateHash) {
        let tick = due.inputs.tick;
        if tick != self.peers[peer].next {
            let what = format!("ran tick {tick} instead");
            self.violated(Oracle::Inputs, peer, now, what);
        }
        if due.inputs.inputs.len() != self.peers.len() {
            let what = format!("{} inputs for {} seats", due.inputs.inputs.len(), self.peers.len());
            self.violated(Oracle::Inputs, peer, now, what);
        }
        if self.ticks.len() <= tick.0 as usize {
            self.ticks.resize(tick.0 as usize + 1, [None; PLAYERS_MAX]);
        }
        let record = TickRecord {
            inputs: digest(&due.inputs),
            hash: hash.whole,
            sealed_at: due.sealed_at,
            ran_at: now,
        };
        self.ticks[tick.0 as usize][peer] = Some(record);
        self.count_commands(peer, now, &due.inputs);
        if let Some(stall) = due.stall {
            self.note_stall(peer, now, stall);
        }
        self.peers[peer].next = tick.plus(1);
        self.peers[peer].ran_at = now;
    }

    /// At the end of a match: whether all who took part to their end ran each tick alike. A peer that the
    /// others dropped, or that crashed, may have run ticks with inputs of its own that nobody else has.
    pub fn compare(&mut self, takes_part: impl Fn(usize) -> bool) {
        for tick in 0..self.ticks.len() {
            let records = self.ticks[tick];
            let mut of = (0..self.peers.len()).filter(|&peer| takes_part(peer));
            let Some((first, a)) = of.find_map(|peer| Some((peer, records[peer]?))) else { continue };
            for (peer, b) in of.filter_map(|peer| Some((peer, records[peer]?))) {
                if a.inputs != b.inputs {
                    let what = format!("ran tick {tick} with other inputs than peer {first}");
                    self.violated(Oracle::Inputs, peer, b.ran_at, what);
                } else if a.hash != b.hash && !self.is_planted {
                    let what =
                        format!("hash {:016x} after tick {tick}, {:016x} at peer {first}", b.hash, a.hash);
                    self.violated(Oracle::Hashes, peer, b.ran_at, what);
                } else {
                    continue;
                }
                // What follows follows from it.
                return;
            }
        }
    }

    /// From each input's seal to the tick that runs it at another peer. Only where clocks show network time.
    #[must_use]
    pub fn opponent_latency(&self) -> Histogram {
        let mut latency = Histogram::default();
        for records in &self.ticks {
            for (by, sealed) in records.iter().enumerate() {
                let others = records.iter().enumerate().filter(|&(at, _)| at != by);
                for (sealed, ran) in others.filter_map(|(_, ran)| Some(((*sealed)?, (*ran)?))) {
                    latency.add(ran.ran_at.since(sealed.sealed_at));
                }
            }
        }
        latency
    }

    fn count_commands(&mut self, peer: usize, now: Time, ran: &TickInputs) {
        for (player, input) in ran.iter() {
            for number in input.commands.iter().filter_map(number_of) {
                let expected = self.peers[peer].numbers[player.index()];
                let given = self.peers[player.index()].given.len() as u32;
                if number != expected || number >= given {
                    let what = format!(
                        "command {number} of player {player} ran in tick {}; {expected} is next, {given} were given",
                        ran.tick
                    );
                    self.violated(Oracle::Commands, peer, now, what);
                }
                self.peers[peer].numbers[player.index()] = number + 1;
            }
        }
    }

    fn note_stall(&mut self, peer: usize, now: Time, stall: Stall) {
        let record = &mut self.peers[peer];
        record.stalls += 1;
        record.stalled_us[usize::from(stall.cause == StallCause::Computer)] +=
            stall.ran.since(stall.due).as_micros() as u64;
        if stall.due < record.stalled_until || stall.ran < stall.due {
            let what = format!("a stall from {} to {} us", stall.due.0, stall.ran.0);
            self.violated(Oracle::Stalls, peer, now, what);
        }
        self.peers[peer].stalled_until = stall.ran;
    }

    /// A peer has sent a datagram.
    pub fn sent(&mut self, peer: usize, now: Time, bytes: usize) {
        let links = self.peers.len() as u32 - 1;
        let record = &mut self.peers[peer];
        let second = now.0 / 1_000_000;
        if second != record.second {
            (record.second, record.datagrams, record.bytes) = (second, 0, 0);
        }
        record.datagrams += 1;
        record.bytes += bytes as u32;
        let (datagrams, sum) = (record.datagrams, record.bytes);
        if bytes > DATAGRAM_BYTES_MAX {
            self.violated(Oracle::Bounds, peer, now, format!("a datagram of {bytes} bytes"));
        }
        let is_first_beyond = datagrams == links * DATAGRAMS_PER_SECOND_MAX + 1;
        let is_too_much =
            sum > links * BYTES_PER_SECOND_MAX && sum - bytes as u32 <= links * BYTES_PER_SECOND_MAX;
        if is_first_beyond || is_too_much {
            let what = format!("{datagrams} datagrams, {sum} bytes sent within a second on {links} links");
            self.violated(Oracle::Bounds, peer, now, what);
        }
    }

    /// At the end of a peer's match: what it measured is what was seen.
    pub fn check_stalls(&mut self, peer: usize, now: Time, (stalls, us): (u32, u64)) {
        let record = &self.peers[peer];
        let [network, computer] = record.stalled_us;
        if (record.stalls, network + computer) != (stalls, us) {
            let what = format!(
                "{stalls} stalls, {us} us; seen {}, {network} us by the network and {computer} by the computer",
                record.stalls
            );
            self.violated(Oracle::Stalls, peer, now, what);
        }
    }

    /// At the end of a match that went to its end: every command that had the time to has run at `peer`, but
    /// for those of players who went before.
    pub fn check_commands(&mut self, peer: usize, now: Time, is_away: impl Fn(usize) -> bool) {
        for player in (0..self.peers.len()).filter(|&player| !is_away(player)) {
            let (ran, next) = (self.peers[peer].numbers[player], self.peers[peer].next);
            let given = &self.peers[player].given;
            let due = given.iter().filter(|tick| tick.plus(COMMAND_TICKS_MAX) < next).count() as u32;
            if ran < due {
                let player = PlayerId(player as u8);
                let what = format!("{ran} commands of player {player} ran, {due} were given long before");
                self.violated(Oracle::Commands, peer, now, what);
            }
        }
    }
}

impl PeerRecord {
    /// Stalled for want of another's input, and by the computer itself, in microseconds.
    #[must_use]
    pub const fn stalled_us(&self) -> [u64; 2] {
        self.stalled_us
    }

    /// Numbered commands given here.
    #[must_use]
    pub const fn given(&self) -> usize {
        self.given.len()
    }
}

/// A hash over what each player wants in a tick.
fn digest(ran: &TickInputs) -> u64 {
    let mut buffer = [0; INPUT_BYTES_MAX];
    ran.iter().fold(u64::from(ran.tick.0), |digest, (player, input)| {
        // Anything longer could not have come out of a datagram.
        let bytes = postcard::to_slice(input, &mut buffer).map_or(&[][..], |bytes| &*bytes);
        XxHash3_64::oneshot_with_seed(digest.rotate_left(1) ^ u64::from(player.0), bytes)
    })
}
