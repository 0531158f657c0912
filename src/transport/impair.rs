//! A simulated link: delays, loses, duplicates and reorders datagrams, all drawn from one seed. Sans-IO: real
//! processes put it before their socket.

use core::ops::RangeInclusive;
use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::collections::BTreeMap;
use std::str::FromStr;

use super::{Bottleneck, RateLimit};
use net::{Time, Transmit};

/// Maximum number of datagrams in flight; more are lost, as in a full buffer.
const IN_FLIGHT_MAX: usize = 4096;
/// Maximum delay and jitter.
const DELAY_MAX: Duration = Duration::from_secs(10);
/// Maximum number of draws whose sum is a jitter.
const JITTER_DRAWS_MAX: u8 = 8;
/// Sizes of a token bucket: a datagram of any length fits in.
const BUCKET_BYTES: RangeInclusive<u32> = 1_500..=10_000_000;
/// Length of an IPv4 and a UDP header, in bytes.
const HEADER_BYTES: usize = 28;
/// Additional delay of a reordered datagram.
const HELD_BACK: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(25)];
/// Unit of shares: parts per million.
const MILLION: u32 = 1_000_000;

/// Impairment of datagrams in one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSpec {
    /// One-way delay.
    pub delay: Duration,
    /// Maximum deviation from the delay; may reorder.
    pub jitter: Duration,
    /// Number of uniform draws whose sum is the jitter, each over an equal share of it: one for each link of the
    /// path. 0 counts as 1.
    pub jitter_draws: u8,
    /// Share of datagrams lost, independently, in millionths.
    pub loss: u32,
    /// Share of datagrams at which a burst begins, in millionths, and the number of datagrams it loses.
    pub burst: (u32, u32),
    /// Share of datagrams that are duplicated, in millionths.
    pub duplicate: u32,
    /// Share of datagrams that are delayed by another 5 to 25 ms, in millionths.
    pub reorder: u32,
    /// Rate limit; delay and jitter follow it.
    pub limit: RateLimit,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Reason why a link specification is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLinkSpec {
    /// A part that is not `key=value` with a known key.
    #[error(
        "`{0}` in the link: expected delay, jitter, loss, burst, dup, reorder, rate, queue, bucket or seed, such as delay=50ms,loss=5%"
    )]
    Key(String),
    /// A value has the wrong form or is out of range.
    #[error("`{value}` in the link's {key}: expected {expected}")]
    Value {
        /// Key of the value.
        key: &'static str,
        /// Value given.
        value: String,
        /// Description of valid values.
        expected: &'static str,
    },
}

impl FromStr for LinkSpec {
    type Err = InvalidLinkSpec;

    /// Parses `delay=50ms,jitter=5ms,loss=5%,burst=2%:4,dup=1%,reorder=2%,rate=1mbit,queue=200ms,bucket=1500,seed=7`;
    /// `jitter=5ms:2` is the sum of two draws.
    fn from_str(text: &str) -> Result<Self, InvalidLinkSpec> {
        let mut spec = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| InvalidLinkSpec::Key(part.to_owned()))?;
            match key {
                "delay" => spec.delay = duration("delay", value)?,
                "jitter" => (spec.jitter, spec.jitter_draws) = jitter(value)?,
                "loss" => spec.loss = share("loss", value)?,
                "burst" => spec.burst = burst(value)?,
                "dup" => spec.duplicate = share("dup", value)?,
                "reorder" => spec.reorder = share("reorder", value)?,
                "rate" => spec.limit.rate = rate(value)?,
                "queue" => spec.limit.queue = duration("queue", value)?,
                "bucket" => spec.limit.burst = bucket(value)?,
                "seed" => {
                    let seed = value.parse().ok();
                    spec.seed = seed.ok_or_else(|| invalid("seed", value, "a whole number"))?;
                }
                _ => return Err(InvalidLinkSpec::Key(part.to_owned())),
            }
        }
        Ok(spec)
    }
}

fn invalid(key: &'static str, value: &str, expected: &'static str) -> InvalidLinkSpec {
    InvalidLinkSpec::Value { key, value: value.to_owned(), expected }
}

fn duration(key: &'static str, value: &str) -> Result<Duration, InvalidLinkSpec> {
    const EXPECTED: &str = "a time up to 10s, such as 25ms, 500us or 1s";
    let units = [("ms", 1_000.0), ("us", 1.0), ("s", 1_000_000.0)];
    let unit = units.iter().find_map(|&(unit, us)| Some((value.strip_suffix(unit)?, us)));
    let micros = unit.and_then(|(number, us)| Some(number.parse::<f64>().ok()? * us));
    let micros = micros.filter(|us| (0.0..=DELAY_MAX.as_micros() as f64).contains(us));
    micros.map(|us| Duration::from_micros(us as u64)).ok_or_else(|| invalid(key, value, EXPECTED))
}

fn jitter(value: &str) -> Result<(Duration, u8), InvalidLinkSpec> {
    const EXPECTED: &str = "a time up to 10s, or the sum of 1 to 8 draws, such as 5ms or 5ms:2";
    let (most, draws) = value.split_once(':').unwrap_or((value, "1"));
    let draws = draws.parse().ok().filter(|draws| (1..=JITTER_DRAWS_MAX).contains(draws));
    Ok((duration("jitter", most)?, draws.ok_or_else(|| invalid("jitter", value, EXPECTED))?))
}

fn share(key: &'static str, value: &str) -> Result<u32, InvalidLinkSpec> {
    let percent = value.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| (percent * 10_000.0) as u32)
        .ok_or_else(|| invalid(key, value, "a share from 0% to 100%"))
}

fn burst(value: &str) -> Result<(u32, u32), InvalidLinkSpec> {
    const EXPECTED: &str = "a share and a length from 1 to 1000, such as 2%:4";
    let (at, length) = value.split_once(':').ok_or_else(|| invalid("burst", value, EXPECTED))?;
    let length = length.parse().ok().filter(|length| (1..=1000).contains(length));
    Ok((share("burst", at)?, length.ok_or_else(|| invalid("burst", value, EXPECTED))?))
}

fn rate(value: &str) -> Result<u64, InvalidLinkSpec> {
    let units = [("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];
    let unit = units.iter().find_map(|&(unit, bits)| Some((value.strip_suffix(unit)?, bits)));
    let bits = unit.and_then(|(number, bits)| number.parse::<u64>().ok()?.checked_mul(bits));
    bits.filter(|&bits| bits > 0).ok_or_else(|| invalid("rate", value, "such as 500kbit, 1mbit or 1gbit"))
}

fn bucket(value: &str) -> Result<u32, InvalidLinkSpec> {
    let bytes = value.parse().ok().filter(|bytes| BUCKET_BYTES.contains(bytes));
    bytes.ok_or_else(|| invalid("bucket", value, "a number of bytes from 1500 to 10000000"))
}

/// Datagrams in flight on such a link.
#[derive(Debug)]
pub struct Impairment {
    spec: LinkSpec,
    rng: ChaCha8Rng,
    burst_left: u32,
    bottleneck: Bottleneck,
    count: u64,
    /// Datagrams by arrival time, then in the order in which they were sent.
    in_flight: BTreeMap<(Time, u64), Transmit>,
}

impl Impairment {
    /// Creates an empty link.
    #[must_use]
    pub fn new(spec: LinkSpec) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(spec.seed);
        Self {
            spec,
            rng,
            burst_left: 0,
            bottleneck: Bottleneck::default(),
            count: 0,
            in_flight: BTreeMap::new(),
        }
    }

    /// Sends a datagram.
    pub fn push(&mut self, now: Time, transmit: Transmit) {
        // Every datagram takes the same number of draws, so that one setting does not affect another's, except for
        // the number of draws of a jitter.
        let lost = self.draw(self.spec.loss);
        let burst = self.draw(self.spec.burst.0);
        let duplicate = self.draw(self.spec.duplicate);
        let reorder = self.draw(self.spec.reorder);
        let delays = [self.delay(reorder), self.delay(false)];
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return;
        }
        if burst {
            self.burst_left = self.spec.burst.1 - 1;
            return;
        }
        if lost {
            return;
        }
        let bytes = transmit.datagram.bytes().len() + HEADER_BYTES;
        let Some(sent) = self.bottleneck.pass(&self.spec.limit, now, bytes) else { return };
        if duplicate {
            self.deliver(sent.plus(delays[1]), transmit.clone());
        }
        self.deliver(sent.plus(delays[0]), transmit);
    }

    /// Returns the next datagram that has arrived by `now`.
    pub fn pop(&mut self, now: Time) -> Option<Transmit> {
        if self.next_at()? > now {
            return None;
        }
        self.in_flight.pop_first().map(|(_, transmit)| transmit)
    }

    /// Returns when the next datagram arrives.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.in_flight.first_key_value().map(|(&(at, _), _)| at)
    }

    fn deliver(&mut self, at: Time, transmit: Transmit) {
        if self.in_flight.len() < IN_FLIGHT_MAX {
            self.count += 1;
            self.in_flight.insert((at, self.count), transmit);
        }
    }

    fn draw(&mut self, share: u32) -> bool {
        self.below(u64::from(MILLION)) < u64::from(share)
    }

    fn delay(&mut self, reorder: bool) -> Duration {
        let (most, draws) = (2 * self.spec.jitter.as_micros() as u64, self.spec.jitter_draws.max(1));
        let jitter: u64 = (0..draws).map(|_| self.below(most + 1)).sum();
        let jittered = self.spec.delay + Duration::from_micros(jitter / u64::from(draws));
        let [least, most] = HELD_BACK;
        let held = least + Duration::from_micros(self.below((most - least).as_micros() as u64));
        jittered.saturating_sub(self.spec.jitter) + if reorder { held } else { Duration::ZERO }
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::SealedPacket;

    fn run(spec: &str, datagrams: u32) -> Vec<(u64, u32)> {
        let mut link = Impairment::new(spec.parse().expect("a link"));
        let to = ([127, 0, 0, 1], 1).into();
        let mut arrived = Vec::new();
        for n in 0..datagrams {
            let datagram = SealedPacket::unconnected(&n.to_le_bytes());
            link.push(Time(u64::from(n) * 10_000), Transmit { to, datagram, local: None });
        }
        while let Some(at) = link.next_at() {
            let next = link.pop(at).expect("due");
            let n = next.datagram.bytes().try_into().expect("four bytes");
            arrived.push((at.0, u32::from_le_bytes(n)));
        }
        arrived
    }

    #[test]
    fn a_link_does_what_its_specification_says() {
        assert!(run("delay=50ms", 10).iter().all(|&(at, n)| at == u64::from(n) * 10_000 + 50_000));
        let jittered = run("delay=50ms,jitter=5ms,seed=1", 1000);
        let late = jittered.iter().map(|&(at, n)| at - u64::from(n) * 10_000);
        assert!(late.clone().all(|late| (45_000..=55_000).contains(&late)));
        assert!(late.clone().max() > Some(54_500) && late.clone().min() < Some(45_500));
        assert_eq!(jittered, run("delay=50ms,jitter=5ms:1,seed=1", 1000));
        assert!((880..920).contains(&run("loss=10%,seed=2", 1000).len()));
        assert!((180..220).contains(&(run("dup=20%,seed=3", 1000).len() - 1000)));
        assert!((880..960).contains(&run("burst=2%:4,seed=4", 1000).len()));
        assert!(!run("delay=1ms,reorder=10%,seed=5", 1000).is_sorted_by_key(|&(_, n)| n));
        // 32 bytes with headers at 16 kbit/s take 16 ms. One is sent every 10 ms: 1,500 bytes pass before the bucket
        // is empty, and 400 bytes are queued at most.
        let slow = run("rate=16kbit,delay=5ms", 1_000);
        assert!(slow.iter().take(100).all(|&(at, n)| at == u64::from(n) * 10_000 + 5_000));
        let late = slow.iter().map(|&(at, n)| at - u64::from(n) * 10_000 - 5_000);
        assert!((184_000..=200_000).contains(&late.max().unwrap_or(0)));
        assert!((670..700).contains(&slow.len()), "{} of 1000", slow.len());
        let deep = run("rate=16kbit,queue=1s", 1_000);
        assert!(deep.len() > slow.len() && deep.iter().any(|&(at, n)| at - u64::from(n) * 10_000 > 900_000));
        assert_eq!(run("rate=16kbit,bucket=32000", 1_000).len(), 1_000, "all pass at once");
    }

    /// Returns the standard deviation of the delay of 4,000 datagrams, in microseconds.
    fn deviation_us(jitter: &str) -> f64 {
        let arrived = run(&format!("delay=50ms,jitter={jitter},seed=6"), 4_000);
        let off = arrived.iter().map(|&(at, n)| (at as i64 - i64::from(n) * 10_000 - 50_000) as f64);
        assert!(off.clone().all(|off| off.abs() <= 5_000.0), "never beyond the jitter");
        (off.map(|off| off * off).sum::<f64>() / 4_000.0).sqrt()
    }

    #[test]
    fn a_jitter_of_several_draws_is_their_sum() {
        // A single draw deviates by 5 ms / sqrt(3), the sum of n draws by sqrt(n) less.
        for (jitter, expected_us) in [("5ms", 2_887.0), ("5ms:2", 2_041.0), ("5ms:8", 1_021.0)] {
            let found_us = deviation_us(jitter);
            assert!((found_us / expected_us - 1.0).abs() < 0.04, "{jitter}: {found_us} us");
        }
    }

    #[test]
    fn a_link_is_a_function_of_its_seed() {
        let spec = "delay=20ms,jitter=9ms,loss=5%,burst=1%:3,dup=2%,reorder=2%,rate=1mbit,seed=";
        assert_eq!(run(&format!("{spec}7"), 500), run(&format!("{spec}7"), 500));
        assert_ne!(run(&format!("{spec}7"), 500), run(&format!("{spec}8"), 500));
    }

    #[test]
    fn invalid_link_specifications_are_named() {
        for bad in [
            "delay",
            "delay=5",
            "delay=-1ms",
            "delay=11s",
            "loss=5",
            "loss=101%",
            "burst=2%",
            "jitter=5ms:0",
            "jitter=5ms:9",
            "jitter=5ms:",
            "jitter=5:2",
            "rate=0mbit",
            "rate=1",
            "queue=200",
            "queue=11s",
            "bucket=1499",
            "bucket=1kb",
            "seed=x",
            "speed=1",
            "loss=NaN%",
        ] {
            let error = bad.parse::<LinkSpec>().expect_err(bad);
            assert!(error.to_string().contains("expected"), "{error}");
        }
    }
}
