//! Links with random faults for each datagram. Each direction of each link has its own random sequence, and all of them
//! derive from one seed.

use arrayvec::ArrayVec;
use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::tape::Tape;
use super::{Datagram, HEADER_BYTES, LinkModel, below, up_to};
use crate::fault::{Fault, FaultCounts};
use net::{DATAGRAM_BYTES_MAX, Time};
use transport::{Bottleneck, LinkSpec, RateLimit};

/// Range of the additional delay of a reordered datagram.
const HELD_BACK: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(25)];
/// Denominator of shares, which are in parts per million.
const MILLION: u64 = 1_000_000;

/// Faults of one direction of a link. Shares are in parts per million of the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFaults {
    /// One-way delay.
    pub delay: Duration,
    /// Maximum deviation from the delay; datagrams may overtake each other.
    pub jitter: Duration,
    /// Number of uniform draws that add up to the jitter, each over an equal share of it; 0 counts as 1.
    pub jitter_draws: u8,
    /// Share of datagrams lost independently.
    pub loss: u32,
    /// Losses in bursts.
    pub burst: Option<Burst>,
    /// Share of datagrams duplicated.
    pub duplicate: u32,
    /// Share of datagrams held back for 5 to 25 ms.
    pub reorder: u32,
    /// Rate limit.
    pub limit: RateLimit,
    /// Maximum size of a datagram with its headers, in bytes; larger ones are lost.
    pub mtu: usize,
    /// Share of datagrams with flipped bits. They are discarded, since the link-layer and UDP checksums detect the
    /// damage.
    pub corrupt: u32,
    /// Share of datagrams truncated.
    pub truncate: u32,
    /// Share of datagrams with bytes appended.
    pub pad: u32,
    /// Interruption of the link, and the fault that it counts as.
    pub cut: Option<Fault>,
}

/// Bursts of losses by the Gilbert-Elliott model: no datagram passes in the bad state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Share of datagrams at which the bad state begins, in parts per million.
    pub enter: u32,
    /// Mean number of datagrams lost in a burst.
    pub length: u32,
    /// Time after which a burst ends even if few datagrams were sent in it.
    pub lasts_max: Duration,
}

impl Default for LinkFaults {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            jitter_draws: 1,
            loss: 0,
            burst: None,
            duplicate: 0,
            reorder: 0,
            limit: RateLimit::default(),
            mtu: usize::MAX,
            corrupt: 0,
            truncate: 0,
            pad: 0,
            cut: None,
        }
    }
}

impl From<LinkSpec> for LinkFaults {
    fn from(spec: LinkSpec) -> Self {
        let (enter, length) = spec.burst;
        Self {
            delay: spec.delay,
            jitter: spec.jitter,
            jitter_draws: spec.jitter_draws,
            loss: spec.loss,
            burst: (enter > 0).then_some(Burst { enter, length, lasts_max: Duration::MAX }),
            duplicate: spec.duplicate,
            reorder: spec.reorder,
            limit: spec.limit,
            ..Self::default()
        }
    }
}

/// Links between all pairs of nodes, and the datagrams that attackers have recorded.
#[derive(Debug)]
pub struct FaultyLinks {
    /// Links by sender, then by receiver.
    links: Vec<Link>,
    nodes: usize,
    pub(super) tape: Tape,
    /// Random numbers of attacks.
    pub(super) rng: ChaCha8Rng,
    counts: FaultCounts,
    /// Buffer for a damaged copy.
    copy: Vec<u8>,
}

impl FaultyLinks {
    /// Creates links without faults.
    pub fn new(nodes: usize, seed: u64) -> Self {
        let rng = |stream: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            rng
        };
        Self {
            links: (0..nodes * nodes).map(|link| Link::new(rng(1 + link as u64))).collect(),
            nodes,
            tape: Tape::default(),
            rng: rng(0),
            counts: FaultCounts::default(),
            copy: Vec::new(),
        }
    }

    /// Returns the faults of the link from one node to another.
    pub fn faults(&mut self, from: usize, to: usize) -> &mut LinkFaults {
        &mut self.links[from * self.nodes + to].faults
    }

    /// Counts an effect of a fault.
    pub fn fired(&mut self, fault: Fault) {
        self.counts.add(fault);
    }

    /// Returns the number of effects of each fault.
    pub const fn counts(&self) -> &FaultCounts {
        &self.counts
    }
}

impl LinkModel for FaultyLinks {
    fn carry(&mut self, now: Time, datagram: &Datagram<'_>, mut deliver: impl FnMut(Time, &[u8])) {
        let &Datagram { from, source, to, bytes } = datagram;
        self.tape.keep(to, source, bytes);
        let link = &mut self.links[from * self.nodes + to];
        let Passage { arrivals, damage } = link.pass(now, bytes.len() + HEADER_BYTES, &mut self.counts);
        for at in arrivals {
            self.copy.clear();
            self.copy.extend_from_slice(bytes);
            if !damage.apply(&mut self.copy, &mut self.counts) {
                self.copy.clear();
            }
            deliver(at, &self.copy);
        }
    }
}

/// Fate of a datagram: none, one or two arrivals, and the damage.
struct Passage {
    arrivals: ArrayVec<Time, 2>,
    damage: Damage,
}

/// Damage to a datagram's bytes, with its random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    None,
    Flipped(u64),
    Truncated(u64),
    Padded(u64),
}

/// One direction of one link.
#[derive(Debug)]
struct Link {
    faults: LinkFaults,
    rng: ChaCha8Rng,
    /// Beginning of the current burst of losses.
    bad_since: Option<Time>,
    bottleneck: Bottleneck,
}

impl Link {
    fn new(rng: ChaCha8Rng) -> Self {
        Self { faults: LinkFaults::default(), rng, bad_since: None, bottleneck: Bottleneck::default() }
    }

    /// Transmits a datagram of `bytes` bytes with headers.
    fn pass(&mut self, now: Time, bytes: usize, counts: &mut FaultCounts) -> Passage {
        // Every datagram takes the same number of draws, except those of its jitter, so that one setting does not
        // change the effect of another.
        let faults = self.faults;
        let lost = self.draw(faults.loss);
        let is_bad = self.draw_state(now);
        let duplicate = self.draw(faults.duplicate);
        let delays = [self.draw_delay(), self.draw_delay()];
        let reorder = self.draw(faults.reorder);
        let held = HELD_BACK[0] + up_to(&mut self.rng, HELD_BACK[1] - HELD_BACK[0]);
        let damage = self.draw_damage();
        let mut passage = Passage { arrivals: ArrayVec::new(), damage };
        let fault = match () {
            () if faults.cut.is_some() => faults.cut,
            () if bytes > faults.mtu => Some(Fault::Mtu),
            () if is_bad => Some(Fault::BurstLoss),
            () if lost => Some(Fault::Loss),
            () => None,
        };
        if let Some(fault) = fault {
            counts.add(fault);
            return passage;
        }
        let Some(sent) = self.transmit(now, bytes, counts) else { return passage };
        if !faults.delay.is_zero() {
            counts.add(Fault::Delay);
        }
        if !faults.jitter.is_zero() {
            counts.add(Fault::Jitter);
        }
        let first = sent.plus(delays[0]);
        passage.arrivals.push(if reorder { first.plus(held) } else { first });
        if reorder {
            counts.add(Fault::Reorder);
        }
        if duplicate {
            counts.add(Fault::Duplicate);
            passage.arrivals.push(sent.plus(delays[1]));
        }
        passage
    }

    /// Returns the time at which a datagram leaves the bottleneck; `None` if the queue is full.
    fn transmit(&mut self, now: Time, bytes: usize, counts: &mut FaultCounts) -> Option<Time> {
        let sent = self.bottleneck.pass(&self.faults.limit, now, bytes);
        match sent {
            Some(at) if at > now => counts.add(Fault::RateLimit),
            Some(_) => {}
            None => counts.add(Fault::QueueOverflow),
        }
        sent
    }

    fn draw_state(&mut self, now: Time) -> bool {
        let turn = below(&mut self.rng, MILLION);
        let since = self.bad_since.unwrap_or(now);
        self.bad_since = self.faults.burst.and_then(|burst| {
            let is_bad = if self.bad_since.is_some() {
                turn >= MILLION / u64::from(burst.length.max(1)) && now.since(since) < burst.lasts_max
            } else {
                turn < u64::from(burst.enter)
            };
            is_bad.then_some(since)
        });
        self.bad_since.is_some()
    }

    fn draw_delay(&mut self) -> Duration {
        let (most, draws) = (2 * self.faults.jitter, self.faults.jitter_draws.max(1));
        let jitter: Duration = (0..draws).map(|_| up_to(&mut self.rng, most)).sum();
        (self.faults.delay + jitter / u32::from(draws)).saturating_sub(self.faults.jitter)
    }

    fn draw_damage(&mut self) -> Damage {
        let (corrupt, truncate, pad) = (self.faults.corrupt, self.faults.truncate, self.faults.pad);
        let (kind, how) = (below(&mut self.rng, MILLION) as u32, self.rng.next_u64());
        if kind < corrupt {
            Damage::Flipped(how)
        } else if kind < corrupt.saturating_add(truncate) {
            Damage::Truncated(how)
        } else if kind < corrupt.saturating_add(truncate).saturating_add(pad) {
            Damage::Padded(how)
        } else {
            Damage::None
        }
    }

    fn draw(&mut self, share: u32) -> bool {
        below(&mut self.rng, MILLION) < u64::from(share)
    }
}

impl Damage {
    /// Damages a datagram. Returns `false` if the receiver's computer discards it. The link layer's checksum is also
    /// modelled: UDP's checksum misses one in 256 of these errors, and plaintext datagrams have no authentication tag.
    fn apply(self, bytes: &mut Vec<u8>, counts: &mut FaultCounts) -> bool {
        match self {
            Self::None => true,
            Self::Flipped(how) => {
                counts.add(Fault::Corruption);
                let whole = crc32fast::hash(bytes);
                // One to eight random bits.
                let (flips, bits) = (1 + how % 8, bytes.len() as u64 * 8);
                for nth in 0..flips {
                    let bit = (how.rotate_left(8 * nth as u32 + 8) % bits) as usize;
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
                crc32fast::hash(bytes) == whole
            }
            Self::Truncated(how) => {
                counts.add(Fault::Truncation);
                bytes.truncate((how % bytes.len().max(1) as u64) as usize);
                !bytes.is_empty()
            }
            Self::Padded(how) => {
                counts.add(Fault::Padding);
                let more = how.to_le_bytes();
                bytes.extend(&more[..1 + (how % 8) as usize]);
                bytes.truncate(DATAGRAM_BYTES_MAX);
                true
            }
        }
    }
}
