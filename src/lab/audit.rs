//! Invariants of every match, whatever faults it has: the oracles of the virtual network.

use serde::Serialize;
use std::fmt;
use twox_hash::XxHash3_64;

use game::Histogram;
use net::{DATAGRAM_BYTES_MAX, DueTick, Stall, StallCause, Time};
use sim::{
    Command, INPUT_BYTES_MAX, PLAYERS_MAX, PlayerId, Selection, StateHash, Target, Tick, TickInputs, UnitId,
    When,
};

/// Maximum number of violations that one match reports, since one leads to many.
const VIOLATIONS_MAX: usize = 16;
/// Maximum number of datagrams that a peer may send on one link in any second, at 60 ticks/s: two per tick, each in up
/// to four parts, and pings.
const DATAGRAMS_PER_SECOND_MAX: u32 = 500;
/// Maximum number of bytes in these datagrams.
const BYTES_PER_SECOND_MAX: u32 = 250_000;
/// Maximum number of ticks from a command to its execution while its player is connected: the longest delay, the
/// largest lead, and the wait for room in an input.
const COMMAND_TICKS_MAX: u32 = 150;

/// Invariant of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Oracle {
    /// The program does not panic.
    Panic,
    /// A tick runs with exactly one input of each seat, the same on all peers, in the order of ticks.
    Inputs,
    /// All peers have the same hash after each tick, unless a difference was planted.
    Hashes,
    /// A command runs once, in order, on all peers.
    Commands,
    /// Traffic and memory of peers are bounded.
    Bounds,
    /// A match resumes its normal pace once faults have stopped.
    Progress,
    /// A match ends with the same outcome for all peers, and for a reason that occurred.
    Outcome,
    /// Stalled time by cause adds up to the total, and no two stalls overlap.
    Stalls,
    /// A planted difference is found, at its tick and field, and all peers describe it in the same words.
    Desync,
    /// No datagram causes more than the specified number of answers.
    Answers,
    /// A guest gets its seat in time.
    Seat,
    /// No peer makes the input delay of others longer than their paths require.
    Delay,
    /// The queue between two honest nodes is bounded, and their connection lasts.
    Connection,
    /// A host that does not know the room code can test only a few guesses against a guest.
    Guesses,
}

/// Violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Violated invariant.
    pub oracle: Oracle,
    /// Peer that violated it.
    pub peer: usize,
    /// Next tick of that peer.
    pub tick: u32,
    /// Time of the violation, in microseconds of network time.
    pub at_us: u64,
    /// Description, with the measured numbers.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at_us as f64 / 1e6;
        let Self { oracle, peer, tick, what, .. } = self;
        write!(f, "{oracle:?}: peer {peer} before tick {tick}, after {seconds:.3} s: {what}")
    }
}

/// Returns the n-th numbered command of a player. It selects units that never exist, so it changes nothing but the
/// command count. Every third time the selection changes, as a player's does.
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

/// Observer of all peers of one match.
#[derive(Debug)]
pub struct Audit {
    /// Whether the peers' worlds are meant to differ.
    is_planted: bool,
    peers: Vec<PeerRecord>,
    /// Inputs and hash of each tick, by peer.
    ticks: Vec<[Option<TickRecord>; PLAYERS_MAX]>,
    violations: Vec<Violation>,
}

/// Observations of one peer.
#[derive(Debug)]
pub struct PeerRecord {
    /// Next tick.
    pub next: Tick,
    /// Time at which its last tick ran.
    pub ran_at: Time,
    /// Number of the next numbered command to run here, by player.
    numbers: Vec<u32>,
    /// Commands given here, each with the next tick at that time.
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
    /// Time at which its own input was committed, on its own clock.
    sealed_at: Time,
    ran_at: Time,
}

impl Audit {
    /// Creates the observer of `peers` peers before tick 0.
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

    /// Returns the violations found so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns the observations of a peer.
    #[must_use]
    pub fn peer(&self, peer: usize) -> &PeerRecord {
        &self.peers[peer]
    }

    /// Records a violation.
    pub fn violated(&mut self, oracle: Oracle, peer: usize, now: Time, what: String) {
        let tick = self.peers[peer].next.0;
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation { oracle, peer, tick, at_us: now.0, what });
        }
    }

    /// Returns the number of the next command that this peer gives.
    #[must_use]
    pub fn next_number(&self, peer: usize) -> u32 {
        self.peers[peer].given.len() as u32
    }

    /// Records that a peer has given its next numbered command.
    pub fn gave(&mut self, peer: usize) {
        let next = self.peers[peer].next;
        self.peers[peer].given.push(next);
    }

    /// Records that a peer has run a tick.
    pub fn ran(&mut self, peer: usize, now: Time, due: &DueTick, hash: &StateHash) {
        let tick = due.inputs.tick;
        if tick != self.peers[peer].next {
            let what = format!("ran tick {tick} out of order");
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

    /// Checks, at the end of a match, that all peers that took part to the end ran each tick with the same inputs and
    /// hash. A peer that was dropped, or that crashed, may have run ticks with inputs that the others do not have.
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
                // Later differences follow from the first.
                return;
            }
        }
    }

    /// Measures the time from each committed input to the tick that runs it at another peer. Valid only if the peers'
    /// clocks show network time.
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

    /// Records that a peer has sent a datagram.
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

    /// Checks, at the end of a peer's match, that its own measurement of stalls matches the observed one.
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

    /// Checks, at the end of a complete match, that every command that had enough time has run at `peer`, except those
    /// of players who left before.
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
    /// Returns the time stalled by the network and by the computer, in microseconds.
    #[must_use]
    pub const fn stalled_us(&self) -> [u64; 2] {
        self.stalled_us
    }

    /// Returns the number of numbered commands given here.
    #[must_use]
    pub const fn given(&self) -> usize {
        self.given.len()
    }
}

/// Hashes the inputs of all players for a tick.
fn digest(ran: &TickInputs) -> u64 {
    let mut buffer = [0; INPUT_BYTES_MAX];
    ran.iter().fold(u64::from(ran.tick.0), |digest, (player, input)| {
        // No longer input fits into a datagram.
        let bytes = postcard::to_slice(input, &mut buffer).map_or(&[][..], |bytes| &*bytes);
        XxHash3_64::oneshot_with_seed(digest.rotate_left(1) ^ u64::from(player.0), bytes)
    })
}
