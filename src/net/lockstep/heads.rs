//! Signed chain heads: who sends different inputs of one tick to different peers has signed both.
//!
//! Each seat chains the hashes of its own inputs, and signs the head of that chain at a fixed interval
//! ([`HEADS_PER_S`]), and every [`SIGN_AGAIN`] while another peer is behind: then a peer can prove to the one behind which
//! inputs a third has withheld from it. A receiver checks the signature against the chain of the inputs that it has
//! received. Two heads of one seat for one tick with different chains are an [`Equivocation`]: no honest seat signs
//! both, and anybody can check them. Between two there is nobody to show that to, and nothing is signed.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use core::time::Duration;

use super::gate::Gate;
use super::input_chain::{Chain, InputChain, chained};
use crate::connection::keys::CipherKind;
use crate::connection::signing::{SigningKey, Verifier};
use crate::drop_cause::{DropCause, Handled};
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::Signature;
use crate::wire::message::{Equivocation, Head, ShownHead};
use sim::{PLAYERS_MAX, PlayerId, Tick, TickRate};

/// Heads of one seat, a second of ticks.
const HEADS_PER_S: u32 = 2;
/// A seat of which this many heads in a row are lacking does not sign what it tells. Half of them being lost, that
/// happens once in four billion times.
const HEADS_LACKED_MAX: u32 = 32;
/// One in this many heads is checked when it arrives, since it covers all inputs before it; the others when they are
/// shown.
const CHECK_ONE_IN: u32 = 4;
/// Heads of each seat that are kept to be shown to others.
const HEADS_KEPT: usize = 4;
/// Heads that one peer may show in a search: its own, those that it has kept of three others, and those that the other
/// two have shown to it.
pub(crate) const HEADS_SHOWN_MAX: usize = 16;
const _: () = assert!(1 + 3 * HEADS_KEPT + 2 <= HEADS_SHOWN_MAX);
/// Interval at which new inputs are signed while another peer is behind.
const SIGN_AGAIN: Duration = Duration::from_millis(80);
/// Interval at which the last head is repeated then, in case it was lost, if there are no new inputs.
const REPEAT: Duration = Duration::from_millis(250);
/// Signatures of one peer that are checked at once, and a second in the long run: its own, and while it relays those of
/// two others, each every [`SIGN_AGAIN`]. A check takes 50 to 100 µs.
const CHECKS_AT_ONCE: u64 = 96;
const CHECKS_PER_S: u64 = 40;

const DOMAIN: &[u8; 34] = b"mini-rts-arena 2026-11 chain heads";
/// Domain, match, seat, tick, chain.
const SIGNED_BYTES: usize = DOMAIN.len() + 32 + 1 + 4 + 32;

impl Equivocation {
    /// Whether it is a proof; it needs to be checked only by those who were not there.
    #[must_use]
    pub fn holds(&self) -> bool {
        let [one, other] = self.chains;
        let cipher = if self.is_encrypted { CipherKind::ChaCha20Poly1305 } else { CipherKind::Null };
        let verifier = Verifier::new(&self.key, cipher);
        let is_signed = |(chain, signature)| {
            verifier.is_good(&signed_bytes(&self.match_id, self.seat, self.tick, chain), signature)
        };
        one != other && self.chains.iter().zip(&self.signatures).all(is_signed)
    }
}

/// Returns the bytes that a seat signs.
fn signed_bytes(match_id: &[u8; 32], seat: PlayerId, tick: Tick, chain: &Chain) -> [u8; SIGNED_BYTES] {
    let mut bytes = [0; SIGNED_BYTES];
    let tick = tick.0.to_le_bytes();
    let fields = [&DOMAIN[..], match_id, &[seat.0], &tick, chain];
    for (to, byte) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
        *to = *byte;
    }
    bytes
}

/// Signed heads of one match.
#[derive(Debug)]
pub(crate) struct Heads {
    match_id: [u8; 32],
    cipher: CipherKind,
    me: PlayerId,
    /// Ticks from one head to the next.
    every: u32,
    /// The tick of the last own head, and when it was made.
    signed: (Tick, Time),
    seats: ArrayVec<SeatHeads, PLAYERS_MAX>,
    /// Other versions of the own inputs, each told to a single peer.
    #[cfg(any(test, feature = "doors"))]
    lies: crate::indexed::BySeat<Option<alloc::boxed::Box<Lie>>>,
}

/// What is known of one seat.
#[derive(Debug)]
struct SeatHeads {
    key: SigningKey,
    verifier: Verifier,
    chain: InputChain,
    /// The newest head that covers inputs which have not arrived.
    waiting: Option<Head>,
    /// The last heads over inputs that are here, the oldest first.
    kept: ArrayVec<(Tick, Signature), HEADS_KEPT>,
    /// The tick of the newest head that was checked, and good.
    checked: Tick,
    /// It has signed other inputs than it has told here.
    is_false: bool,
    checks: TokenBucket,
}

impl Heads {
    /// Before tick 0 of the match with this id; `keys` are those of the seats.
    pub(crate) fn new(
        now: Time,
        (match_id, me): ([u8; 32], PlayerId),
        keys: &[SigningKey],
        cipher: CipherKind,
        rate: TickRate,
    ) -> Self {
        let seat = |key: &SigningKey| SeatHeads {
            key: *key,
            verifier: Verifier::new(key, cipher),
            chain: InputChain::default(),
            waiting: None,
            kept: ArrayVec::new(),
            checked: Tick(0),
            is_false: false,
            checks: TokenBucket::new(now, CHECKS_AT_ONCE, CHECKS_PER_S),
        };
        let seats = keys.iter().take(PLAYERS_MAX).map(seat).collect();
        let every = (rate.hz() / HEADS_PER_S).max(1);
        Self {
            match_id,
            cipher,
            me,
            every,
            signed: (Tick(0), now),
            seats,
            #[cfg(any(test, feature = "doors"))]
            lies: crate::indexed::BySeat::default(),
        }
    }

    /// Takes in the inputs that have arrived: at least once in [`QUEUE_TICKS`] ticks, as long as the gate keeps them.
    pub(crate) fn extend(&mut self, gate: &Gate) {
        for (seat, heads) in self.seats.iter_mut().enumerate() {
            let player = PlayerId(seat as u8);
            while heads.chain.until() < gate.next_needed(player)
                && let Some(input) = gate.encoded(player, heads.chain.until())
            {
                heads.chain.push(input);
            }
        }
        #[cfg(any(test, feature = "doors"))]
        for to in (0..PLAYERS_MAX as u8).map(PlayerId) {
            if let Some(lie) = &mut self.lies[to] {
                lie.extend(gate, self.me);
            }
        }
    }

    /// Takes out the tick of the next own head, if all inputs before it were `told`. While another peer is behind
    /// (`is_urgent`) it need not be a multiple of the interval, and the last one may come again.
    pub(crate) fn take_due(&mut self, now: Time, told: Tick, is_urgent: bool) -> Option<Tick> {
        let in_time = Tick(told.0.checked_div(self.every)?.checked_mul(self.every)?);
        let is_again = is_urgent && self.due_at(told).is_some_and(|at| now >= at);
        let due = if is_again { told } else { in_time };
        (is_again || due > self.signed.0).then(|| {
            self.signed = (due, now);
            due
        })
    }

    /// Time at which the inputs that were `told` are signed while another peer is behind.
    pub(crate) fn due_at(&self, told: Tick) -> Option<Time> {
        let (tick, at) = self.signed;
        (told > Tick(0)).then(|| at.plus(if told > tick { SIGN_AGAIN } else { REPEAT }))
    }

    /// What is signed for a peer of the own inputs before `tick`: their chain, and the bytes to sign.
    pub(crate) fn own(&self, to: PlayerId, tick: Tick) -> Option<(Chain, [u8; SIGNED_BYTES])> {
        let own = self.seats.get(self.me.index())?;
        let chain = *self.told(to, own).after(tick)?;
        Some((chain, signed_bytes(&self.match_id, self.me, tick, &chain)))
    }

    /// Returns the chain over the own inputs as a peer was told them.
    #[cfg(any(test, feature = "doors"))]
    fn told<'a>(&'a self, to: PlayerId, own: &'a SeatHeads) -> &'a InputChain {
        self.lies[to].as_ref().map_or(&own.chain, |lie| &lie.chain)
    }

    /// Returns the chain over the own inputs as every peer was told them.
    #[cfg(not(any(test, feature = "doors")))]
    fn told<'a>(&self, _to: PlayerId, own: &'a SeatHeads) -> &'a InputChain {
        &own.chain
    }

    /// The chain over the inputs before `tick` that this seat has told here.
    pub(crate) fn chain(&self, seat: PlayerId, tick: Tick) -> Option<Chain> {
        self.seats.get(seat.index())?.chain.after(tick).copied()
    }

    /// Takes in a seat's newest head.
    pub(crate) fn receive(&mut self, now: Time, seat: PlayerId, head: Head, gate: &Gate) -> Handled {
        let (tick, next) = (Tick(head.tick), gate.next());
        if tick.since(next) > QUEUE_TICKS {
            return Err(DropCause::TooFarAhead);
        }
        let heads = self.seats.get_mut(seat.index()).ok_or(DropCause::OutOfPlace)?;
        let newest = heads.newest().max(heads.waiting.map_or(Tick(0), |waiting| Tick(waiting.tick)));
        if tick <= newest {
            return Err(DropCause::Stale);
        }
        heads.checks.take(now, 1).then_some(()).ok_or(DropCause::RateLimited)?;
        heads.waiting = Some(head);
        self.check_waiting(seat, gate);
        Ok(())
    }

    /// Checks a seat's newest head, once all inputs that it covers have arrived.
    pub(crate) fn check_waiting(&mut self, seat: PlayerId, gate: &Gate) {
        let is_here = |heads: &SeatHeads| {
            heads.waiting.is_some_and(|waiting| Tick(waiting.tick) <= gate.next_needed(seat))
        };
        if !self.seats.get(seat.index()).is_some_and(is_here) {
            return;
        }
        self.extend(gate);
        let Some(heads) = self.seats.get_mut(seat.index()) else { return };
        let Some(head) = heads.waiting.take() else { return };
        let tick = Tick(head.tick);
        if tick.since(heads.checked) >= self.every.saturating_mul(CHECK_ONE_IN) {
            if heads.signed(&self.match_id, seat, (tick, &head.signature)).is_none() {
                heads.is_false = true;
                return;
            }
            heads.checked = tick;
        }
        if heads.kept.is_full() {
            heads.kept.remove(0);
        }
        heads.kept.push((tick, head.signature));
    }

    /// Whether this seat has signed other inputs than it has told here, or signs nothing; `next` is the next tick to
    /// run.
    pub(crate) fn is_false(&self, seat: PlayerId, next: Tick) -> bool {
        let lacked = self.every.saturating_mul(HEADS_LACKED_MAX);
        self.seats.get(seat.index()).is_some_and(|heads| heads.is_false || next.since(heads.checked) > lacked)
    }

    /// Checks a head that is shown `by` a peer.
    pub(crate) fn check_shown(&mut self, now: Time, by: PlayerId, shown: &ShownHead) -> Handled {
        let checks = &mut self.seats.get_mut(by.index()).ok_or(DropCause::OutOfPlace)?.checks;
        checks.take(now, 1).then_some(()).ok_or(DropCause::RateLimited)?;
        let author = self.seats.get(shown.seat.index()).ok_or(DropCause::OutOfPlace)?;
        let signed = signed_bytes(&self.match_id, shown.seat, Tick(shown.tick), &shown.chain);
        author.verifier.is_good(&signed, &shown.signature).then_some(()).ok_or(DropCause::Unauthenticated)
    }

    /// Checks inputs of a seat, relayed `by` another, the first of which is the next that is lacking here. Returns how many of
    /// them the head covers, if their author has signed it over them and all before them.
    pub(crate) fn check_relayed<'a>(
        &mut self,
        now: Time,
        by: PlayerId,
        (seat, head): (PlayerId, &Head),
        inputs: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Result<usize, DropCause> {
        let (author, tick) = (seat.index(), Tick(head.tick));
        let until = self.seats.get(author).ok_or(DropCause::OutOfPlace)?.chain.until();
        let count =
            usize::try_from(tick.since(until)).ok().filter(|count| (1..=inputs.len()).contains(count));
        let count = count.ok_or(DropCause::Stale)?;
        let checks = &mut self.seats.get_mut(by.index()).ok_or(DropCause::OutOfPlace)?.checks;
        checks.take(now, 1).then_some(()).ok_or(DropCause::RateLimited)?;
        let heads = self.seats.get(author).ok_or(DropCause::OutOfPlace)?;
        let before = *heads.chain.after(until).ok_or(DropCause::OutOfPlace)?;
        let chain = inputs.take(count).fold(before, |chain, input| chained(&chain, input));
        let signed = signed_bytes(&self.match_id, seat, tick, &chain);
        heads.verifier.is_good(&signed, &head.signature).then_some(count).ok_or(DropCause::Unauthenticated)
    }

    /// Whether this seat has signed its inputs before `tick`, as received here. Checks its newest signature if need be.
    pub(crate) fn has_signed(&mut self, seat: PlayerId, tick: Tick) -> bool {
        let Some(heads) = self.seats.get_mut(seat.index()) else { return false };
        let Some(&(newest, signature)) = heads.kept.last().filter(|_| heads.checked < tick) else {
            return heads.checked >= tick;
        };
        if newest >= tick && !heads.is_false {
            heads.is_false = heads.signed(&self.match_id, seat, (newest, &signature)).is_none();
            heads.checked = if heads.is_false { heads.checked } else { newest };
        }
        heads.checked >= tick
    }

    /// The tick of the newest head of a seat over inputs that are here.
    pub(crate) fn newest(&self, seat: PlayerId) -> Tick {
        self.seats.get(seat.index()).map_or(Tick(0), SeatHeads::newest)
    }

    /// The good heads of a seat that cover the inputs before `tick`.
    pub(crate) fn kept(&self, seat: PlayerId, tick: Tick) -> impl DoubleEndedIterator<Item = ShownHead> {
        let heads = self.seats.get(seat.index()).into_iter();
        heads.flat_map(move |heads| {
            let kept = heads.kept.iter().filter(move |(of, _)| *of >= tick);
            kept.filter_map(move |(of, signature)| heads.signed(&self.match_id, seat, (*of, signature)))
        })
    }

    /// The first proof in these heads, whose signatures are good: of the lowest seat, the lowest tick and the lowest
    /// chains, so that all who have the same heads have the same proof. They are sorted.
    pub(crate) fn proof(&self, shown: &mut [ShownHead]) -> Option<Equivocation> {
        shown.sort_unstable_by_key(|shown| (shown.seat, shown.tick, shown.chain, shown.signature));
        let (one, other) = shown.iter().zip(shown.get(1..)?).find(|(one, other)| {
            (one.seat, one.tick) == (other.seat, other.tick) && one.chain != other.chain
        })?;
        Some(Equivocation {
            seat: one.seat,
            tick: Tick(one.tick),
            chains: [one.chain, other.chain],
            signatures: [one.signature, other.signature],
            key: self.seats.get(one.seat.index())?.key,
            match_id: self.match_id,
            is_encrypted: self.cipher == CipherKind::ChaCha20Poly1305,
        })
    }

    /// This peer hears another control of the hero in `tick`.
    #[cfg(any(test, feature = "doors"))]
    pub(crate) fn lie(&mut self, to: PlayerId, tick: Tick, hero: sim::HeroControl) {
        let Some(own) = self.seats.get(self.me.index()) else { return };
        if self.lies[to].is_none() && own.chain.after(tick).is_some() {
            let chain = own.chain.truncated(tick);
            self.lies[to] = Some(alloc::boxed::Box::new(Lie { tick, hero, chain }));
        }
    }
}

impl SeatHeads {
    /// A head that this seat has sent, if it is signed over what the seat has told here.
    fn signed(
        &self,
        match_id: &[u8; 32],
        seat: PlayerId,
        (tick, signature): (Tick, &Signature),
    ) -> Option<ShownHead> {
        let chain = *self.chain.after(tick)?;
        let is_good = self.verifier.is_good(&signed_bytes(match_id, seat, tick, &chain), signature);
        is_good.then_some(ShownHead { seat, tick: tick.0, chain, signature: *signature })
    }

    /// The tick of the newest head over inputs that are here.
    fn newest(&self) -> Tick {
        self.kept.last().map_or(Tick(0), |&(tick, _)| tick)
    }
}

/// What one peer hears instead of the own inputs.
#[cfg(any(test, feature = "doors"))]
#[derive(Debug)]
struct Lie {
    /// In this tick the hero's control is another one.
    tick: Tick,
    /// The control that is held there now.
    hero: sim::HeroControl,
    chain: InputChain,
}

#[cfg(any(test, feature = "doors"))]
impl Lie {
    fn extend(&mut self, gate: &Gate, me: PlayerId) {
        while self.chain.until() < gate.next_needed(me) {
            let tick = self.chain.until();
            let Some(told) = gate.input(me, tick) else { return };
            // Where a control is held on, only that is said.
            let is_held = told.commands.is_empty() && gate.held_before(me, tick) == Some(told.hero);
            if tick != self.tick && !is_held {
                self.hero = told.hero;
            }
            let told = sim::PlayerInput { hero: self.hero, ..told };
            let Some(told) = crate::wire::input::encode_input(&told, &[]) else { return };
            self.chain.push(&told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::signing::Signer;
    use crate::wire::input::{EncodedInput, encode_input};
    use sim::{Direction, HeroControl, PlayerInput};

    const MATCH: [u8; 32] = [7; 32];
    const AUTHOR: PlayerId = PlayerId(1);
    const NOW: Time = Time(0);

    fn signer(seat: u8, cipher: CipherKind) -> Signer {
        Signer::new(&[1 + seat; 32], cipher)
    }

    /// As the first of three sees it.
    fn heads(cipher: CipherKind) -> Heads {
        let keys = [0, 1, 2].map(|seat| signer(seat, cipher).public());
        Heads::new(NOW, (MATCH, PlayerId(0)), &keys, cipher, TickRate::HZ_60)
    }

    fn input(eighth: u8) -> PlayerInput {
        let hero = HeroControl { walk: Some(Direction::eighth(eighth)), strike: None };
        PlayerInput { hero, ..PlayerInput::default() }
    }

    /// A gate that waits for the author alone.
    fn author_alone() -> Gate {
        let mut gate = Gate::new(3);
        for gone in [0, 2].map(PlayerId) {
            gate.disconnect_at(gone, Tick(0)).expect("before tick 0");
        }
        gate
    }

    /// The author tells its inputs before this tick, and they run; the chain over them.
    fn tell(gate: &mut Gate, heads: &mut Heads, until: u32) -> Chain {
        for tick in gate.next().0..until {
            let bytes = encode_input(&input((tick % 8) as u8), &[]).expect("short");
            gate.push(NOW, AUTHOR, Tick(tick), [bytes].iter()).expect("near");
            gate.pop_tick().expect("complete");
            heads.extend(gate);
        }
        heads.chain(AUTHOR, Tick(until)).expect("extended")
    }

    fn signed(
        by: u8,
        match_id: [u8; 32],
        seat: PlayerId,
        tick: u32,
        chain: Chain,
        cipher: CipherKind,
    ) -> Signature {
        signer(by, cipher).sign(&signed_bytes(&match_id, seat, Tick(tick), &chain))
    }

    #[test]
    fn a_head_is_good_over_what_its_author_told_and_false_over_anything_else() {
        for cipher in [CipherKind::ChaCha20Poly1305, CipherKind::Null] {
            let (mut heads, mut gate) = (heads(cipher), author_alone());
            let head = |tick, chain| Head { tick, signature: signed(1, MATCH, AUTHOR, tick, chain, cipher) };
            let (false_chain, kept) = ([9; 32], |heads: &Heads, from| heads.kept(AUTHOR, Tick(from)).count());
            let chain = tell(&mut gate, &mut heads, 30);
            assert_eq!(heads.receive(NOW, AUTHOR, head(120, chain), &gate), Err(DropCause::TooFarAhead));
            assert_eq!(heads.receive(NOW, AUTHOR, head(30, chain), &gate), Ok(()));
            assert_eq!(heads.receive(NOW, AUTHOR, head(30, chain), &gate), Err(DropCause::Stale));
            assert!(kept(&heads, 30) == 1 && heads.has_signed(AUTHOR, Tick(30)));
            assert!(!heads.has_signed(AUTHOR, Tick(31)));
            // It waits for the inputs that it covers, and is shown to nobody.
            assert_eq!(heads.receive(NOW, AUTHOR, head(60, false_chain), &gate), Ok(()));
            tell(&mut gate, &mut heads, 60);
            heads.check_waiting(AUTHOR, &gate);
            assert_eq!(kept(&heads, 31), 0);
            // The first one after two seconds is checked when it comes.
            let chain = tell(&mut gate, &mut heads, 150);
            assert_eq!(heads.receive(NOW, AUTHOR, head(150, chain), &gate), Ok(()));
            assert_eq!((heads.is_false(AUTHOR, gate.next()), kept(&heads, 150)), (false, 1));
            tell(&mut gate, &mut heads, 240);
            assert_eq!(heads.receive(NOW, AUTHOR, head(240, false_chain), &gate), Ok(()));
            assert!(!heads.is_false(AUTHOR, gate.next()), "not yet");
            tell(&mut gate, &mut heads, 270);
            assert_eq!(heads.receive(NOW, AUTHOR, head(270, false_chain), &gate), Ok(()));
            assert!(heads.is_false(AUTHOR, gate.next()));
        }
    }

    #[test]
    fn a_seat_whose_heads_are_lacking_for_long_is_false() {
        let heads = heads(CipherKind::Null);
        let most = 30 * HEADS_LACKED_MAX;
        assert!(!heads.is_false(AUTHOR, Tick(most)) && heads.is_false(AUTHOR, Tick(most + 1)));
    }

    #[test]
    fn a_head_proves_nothing_but_what_its_author_signed() {
        for cipher in [CipherKind::ChaCha20Poly1305, CipherKind::Null] {
            let mut heads = heads(cipher);
            let chain = tell(&mut author_alone(), &mut heads, 30);
            let other = [9; 32];
            let shown = |seat, tick, chain, signature| ShownHead { seat, tick, chain, signature };
            let good = signed(1, MATCH, AUTHOR, 30, chain, cipher);
            let forged = [
                // By another seat in this one's name.
                shown(AUTHOR, 30, other, signed(2, MATCH, AUTHOR, 30, other, cipher)),
                // In another match.
                shown(AUTHOR, 30, other, signed(1, [8; 32], AUTHOR, 30, other, cipher)),
                // Of another tick, over another chain, of another seat.
                shown(AUTHOR, 31, chain, good),
                shown(AUTHOR, 30, other, good),
                shown(PlayerId(0), 30, chain, good),
            ];
            for forged in &forged {
                let refused = Err(DropCause::Unauthenticated);
                assert_eq!(heads.check_shown(NOW, PlayerId(2), forged), refused, "{forged:?}");
            }
            let mut all = [
                shown(AUTHOR, 30, chain, good),
                shown(AUTHOR, 30, chain, good),
                shown(AUTHOR, 60, other, signed(1, MATCH, AUTHOR, 60, other, cipher)),
                shown(PlayerId(2), 30, other, signed(2, MATCH, PlayerId(2), 30, other, cipher)),
            ];
            for shown in &all {
                assert_eq!(heads.check_shown(NOW, PlayerId(2), shown), Ok(()));
            }
            assert_eq!(heads.proof(&mut all), None, "each seat has signed one chain for each tick");
            all[0] = shown(AUTHOR, 30, other, signed(1, MATCH, AUTHOR, 30, other, cipher));
            let proof = heads.proof(&mut all).expect("two chains");
            assert!(proof.seat == AUTHOR && proof.tick == Tick(30) && proof.holds());
        }
    }

    #[test]
    fn relayed_inputs_are_taken_as_far_as_their_author_has_signed_them() {
        for cipher in [CipherKind::ChaCha20Poly1305, CipherKind::Null] {
            // Told to another, and here as far as tick 10.
            let chain = tell(&mut author_alone(), &mut heads(cipher), 30);
            let mut heads = heads(cipher);
            tell(&mut author_alone(), &mut heads, 10);
            let inputs: Vec<_> =
                (10..40).map(|tick| encode_input(&input((tick % 8) as u8), &[]).expect("short")).collect();
            let mut check = |by, tick, inputs: &[_]| {
                let head = Head { tick, signature: signed(by, MATCH, AUTHOR, tick, chain, cipher) };
                let inputs = inputs.iter().map(|input: &EncodedInput| input.alone());
                heads.check_relayed(NOW, PlayerId(2), (AUTHOR, &head), inputs)
            };
            assert_eq!(check(1, 30, &inputs), Ok(20), "the rest is not signed");
            assert_eq!(check(1, 30, &inputs[..20]), Ok(20));
            assert_eq!(check(1, 30, &inputs[..19]), Err(DropCause::Stale), "it is over more than these");
            assert_eq!(check(1, 10, &inputs), Err(DropCause::Stale), "all of that is here");
            let forged = Err(DropCause::Unauthenticated);
            assert_eq!(check(2, 30, &inputs), forged, "signed by who relays them");
            let mut changed = inputs.clone();
            changed.swap(0, 1);
            assert_eq!(check(1, 30, &changed), forged);
            assert_eq!(check(1, 29, &inputs), forged, "of another tick");
        }
    }

    #[test]
    fn checks_of_signatures_are_limited_for_each_peer() {
        let mut heads = heads(CipherKind::Null);
        let nonsense = ShownHead { seat: AUTHOR, tick: 30, chain: [0; 32], signature: [[0; 32]; 2] };
        let mut checked = |now| {
            let show =
                |_: &i32| heads.check_shown(now, PlayerId(2), &nonsense) == Err(DropCause::Unauthenticated);
            (0..100).take_while(show).count() as u64
        };
        assert_eq!((checked(NOW), checked(Time(1_000_000))), (CHECKS_AT_ONCE, CHECKS_PER_S));
    }

    #[test]
    fn what_one_peer_hears_instead_is_signed_for_it_alone() {
        let mut heads = heads(CipherKind::Null);
        let (mut gate, me) = (Gate::new(3), PlayerId(0));
        // A control that is held from tick 4 on is held there, too, in place of this one.
        let walks = |tick: u32| input(if tick < 4 { 1 } else { 2 });
        for tick in 0..10 {
            let input = [encode_input(&walks(tick), &[]).expect("short")];
            gate.push(NOW, me, Tick(tick), input.iter()).expect("near");
        }
        heads.extend(&gate);
        heads.lie(PlayerId(2), Tick(6), input(5).hero);
        heads.extend(&gate);
        let chain = |tick, to| heads.own(PlayerId(to), Tick(tick)).expect("kept").0;
        assert_eq!(chain(6, 1), chain(6, 2));
        assert_eq!(chain(10, 1), heads.chain(me, Tick(10)).expect("kept"));
        let mut instead = InputChain::default();
        for tick in 0..10 {
            instead.push(
                encode_input(&if tick < 6 { walks(tick) } else { input(5) }, &[]).expect("short").alone(),
            );
        }
        assert_eq!(Some(&chain(10, 2)), instead.after(Tick(10)));
    }

    #[test]
    fn every_byte_of_match_seat_tick_and_chain_is_signed() {
        let signed = |at: usize, flipped: u8| {
            let mut fields = [0; 32 + 1 + 4 + 32];
            fields[at] = flipped;
            let (match_id, rest) = fields.split_first_chunk().expect("long enough");
            let (tick, chain) = rest[1..].split_first_chunk().expect("long enough");
            let tick = Tick(u32::from_le_bytes(*tick));
            signed_bytes(match_id, PlayerId(rest[0]), tick, chain.try_into().expect("32 bytes"))
        };
        assert!((0..32 + 1 + 4 + 32).all(|at| signed(at, 1) != signed(at, 0)));
    }
}
