//! Players who hold up the match: measured by what has arrived here ([`StallBudget`]), helped where others have what
//! it lacks, and given up once its budget is spent.
//!
//! A seat whose input is lacking may itself lack the input of another, who sends it to everybody else. So a peer that
//! has run more than who holds it up passes on what it has. Who lacks an input takes it from others if its author has
//! signed it, as each does at short intervals while the match stalls. It also takes inputs of ticks that their author
//! claims to have run: an honest author says so in the very datagram that brings the input, so nobody can forge what
//! another sends. Who does not sign what it has told holds the match up, too: then nobody can pass it on. And who
//! waits for another has waited for it at least as long as others wait for the two of them: it names the cause first,
//! and then has a part of its budget again.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Lockstep, Mesh, Phase};
use crate::event::{End, Event};
use crate::indexed::BySeat;
use crate::play::link::Link;
use crate::play::stall_budget::StallBudget;
use crate::room::settings::{InputDelay, OnLoss};
use crate::time::Time;
use crate::wire::input::EncodedInput;
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::{Head, Relayed, Seats, Suspicion};
use sim::{PLAYERS_MAX, PlayerId, Tick};

/// Time that a user has to decide on a player whose budget is spent, before the match continues without it.
pub(super) const DECIDE_WITHIN: Duration = Duration::from_secs(10);
/// Delay before a peer is helped: it has held the match up for this long, or is behind by this and a retransmission
/// timeout.
const BEHIND: Duration = Duration::from_millis(100);
/// Interval at which a peer is helped again.
const HELP_EVERY: Duration = Duration::from_millis(250);
/// For this long after it was needed inputs are passed on, taken from others, and signed as they are told.
const HELP_LASTS: Duration = Duration::from_secs(10);
/// Lateness of a tick from which on inputs are signed as they are told, so that others can pass them on. Shorter stalls may
/// come from a slow link, which signatures would burden.
const LATE: Duration = Duration::from_millis(500);
/// Lateness of a tick, beyond two retransmission timeouts, from which on a peer that has not signed its input is charged.
const SIGNED_WITHIN: Duration = Duration::from_millis(700);
/// Most of both together: a peer that answers late on purpose gains no more time to sign.
const SIGNED_WITHIN_MAX: Duration = Duration::from_millis(1_700);
/// In a fair match: time to reveal an input once all commitments are here, if one came after its tick was due.
const REVEAL_WITHIN: Duration = Duration::from_secs(1);

/// The stall budgets of all seats, and what they lead to.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    budgets: BySeat<StallBudget>,
    /// From when on lateness counts for each seat.
    judged_from: BySeat<Time>,
    /// Until when each seat's inputs are taken from others, too.
    relayed_until: BySeat<Time>,
    /// Until when inputs are signed as they are told.
    signing_until: Time,
    /// Whether each seat has named a cause since its budget was last whole.
    has_named: BySeat<bool>,
    /// Inputs that are passed on to each seat.
    help: BySeat<Help>,
    /// By relaying seat: inputs of a seat that is lacking here, which become of use once a head covers them.
    runs: BySeat<Run>,
    question: Option<Question>,
}

/// Inputs of one seat that another relays.
#[derive(Clone, Debug, Default)]
struct Run {
    author: PlayerId,
    /// In the order of their ticks, of which each is there once, at most [`QUEUE_TICKS`].
    inputs: Vec<(Tick, EncodedInput)>,
    /// The newest head over them.
    head: Option<Head>,
}

/// Inputs of others for a seat that holds the match up because it lacks them.
#[derive(Clone, Copy, Debug, Default)]
struct Help {
    /// The instant from which all that it lacks may be sent again.
    again_at: Time,
    /// Until when further inputs are passed on once their authors claim to have run them.
    until: Time,
}

/// Open question whether the match continues without a player whose budget is spent.
#[derive(Clone, Copy, Debug)]
struct Question {
    player: PlayerId,
    /// The instant at which it counts as answered.
    until: Time,
}

impl Stalls {
    pub(super) fn new(tick: Duration, timeout: Duration, own: InputDelay) -> Self {
        Self {
            budgets: BySeat::from_fn(|| StallBudget::new(tick, timeout, own)),
            judged_from: BySeat::default(),
            relayed_until: BySeat::default(),
            signing_until: Time(0),
            has_named: BySeat::default(),
            help: BySeat::default(),
            runs: BySeat::default(),
            question: None,
        }
    }

    /// No lateness before `from` counts for anybody.
    pub(super) fn excuse_all_until(&mut self, from: Time) {
        self.judged_from = BySeat::from_fn(|| from);
    }

    /// The local process was suspended for `by`, and could not receive.
    pub(super) fn forgive(&mut self, now: Time, by: Duration) {
        for budget in self.budgets.iter_mut() {
            budget.forgive(now, by);
        }
    }

    /// A tick has run.
    pub(super) fn ran(&mut self, now: Time) {
        for player in (0..PLAYERS_MAX as u8).map(PlayerId) {
            let budget = &mut self.budgets[player];
            budget.ran(now);
            self.has_named[player] &= budget.spent(now) > Duration::ZERO;
        }
    }

    /// Whether inputs are signed as they are told.
    pub(super) fn is_signing(&self, now: Time) -> bool {
        now < self.signing_until
    }

    /// The seats whose inputs are taken from others, too.
    pub(super) fn relayed(&self, now: Time) -> Seats {
        (0..PLAYERS_MAX as u8).map(PlayerId).filter(|&player| now < self.relayed_until[player]).collect()
    }

    /// This seat suspects others: they may be the cause of what it is charged for. It has a part of its budget again, once
    /// until the budget is whole: nobody gains time by naming one seat after another.
    pub(super) fn names_cause(&mut self, now: Time, by: PlayerId) {
        if !core::mem::replace(&mut self.has_named[by], true) {
            self.budgets[by].restore_part(now);
        }
    }

    /// Adds inputs relayed `by` a seat to those that wait for a signature. Returns the newest head and the inputs from tick
    /// `from` on once all inputs that it covers have arrived. A gap is filled when they are relayed again.
    pub(super) fn take_run(
        &mut self,
        by: PlayerId,
        relayed: &Relayed,
        inputs: &[EncodedInput],
        from: Tick,
    ) -> Option<(Head, &[(Tick, EncodedInput)])> {
        let run = &mut self.runs[by];
        if run.author != relayed.player {
            (run.author, run.head) = (relayed.player, None);
            run.inputs.clear();
        }
        let (first, until) = (Tick(relayed.first), from.plus(QUEUE_TICKS));
        let again = first..first.plus(inputs.len() as u32);
        run.inputs.retain(|(tick, _)| *tick >= from && !again.contains(tick));
        let new = (first.0..).map(Tick).zip(inputs.iter().cloned());
        run.inputs.extend(new.filter(|(tick, _)| (from..until).contains(tick)));
        run.inputs.sort_unstable_by_key(|(tick, _)| *tick);
        run.head = relayed.head.or(run.head);
        let head = run.head.filter(|head| Tick(head.tick) > from)?;
        let last = Tick(head.tick - 1);
        let is_whole = run.inputs.get(last.since(from) as usize).is_some_and(|(tick, _)| *tick == last);
        is_whole.then(|| run.head.take()).flatten().map(|head| (head, &run.inputs[..]))
    }

    /// Whether inputs are passed on to this seat.
    pub(super) fn is_helped(&self, player: PlayerId, now: Time) -> bool {
        now < self.help[player].until
    }

    /// A player was silent until now, and the user knew: only the silence that is allowed counts.
    pub(super) fn came_back(&mut self, now: Time, player: PlayerId, timeout: Duration) {
        self.budgets[player].count_at_most(now, timeout);
    }

    /// Time that this seat has spent of its budget.
    pub(super) fn spent(&self, player: PlayerId, now: Time) -> Duration {
        self.budgets[player].spent(now)
    }

    /// Since when the input of this seat has been lacking.
    pub(super) fn since(&self, player: PlayerId) -> Option<Time> {
        self.budgets[player].since()
    }
}

/// Whether a peer must have signed its input for the `next` tick, which is `late`. A peer that claims to
/// have run the tick need not: then others take its inputs unsigned. In a fair match nobody takes signed inputs from
/// others.
fn must_have_signed(link: &Link, next: Tick, late: Duration) -> bool {
    let within = SIGNED_WITHIN + link.connection.rtt.timeout(Duration::ZERO).saturating_mul(2);
    link.claims.ran <= next && late >= within.min(SIGNED_WITHIN_MAX)
}

impl Mesh {
    /// Measures who holds the match up: whose input for the next tick is not here, or not signed, although the tick is due.
    pub(super) fn note_stalls(&mut self, is_running: bool) {
        let now = self.now;
        let is_outrun = is_running && self.links.iter().any(|link| link.is_direct() && self.outruns(link));
        let play = &mut self.play;
        let is_due = is_running && play.is_due(now);
        let (due, withholding) = (play.due(), play.withholding());
        if is_outrun || is_due && now.since(due) >= LATE {
            play.stalls.signing_until = now.plus(HELP_LASTS);
        }
        let (next, is_fair, late) = (play.gate.next(), play.fair.is_some(), now.since(due));
        let must_sign = |link: &Link| is_outrun && !is_fair && must_have_signed(link, next, late);
        let heads = &mut play.heads;
        let mut has_signed =
            |player| heads.as_mut().is_none_or(|heads| heads.has_signed(player, next.plus(1)));
        for link in &self.links {
            let player = link.player;
            if is_due && !withholding.is_empty() && !withholding.contains(player) {
                // It cannot reveal its input before the commitments of others are there.
                play.stalls.judged_from[player] = now.plus(REVEAL_WITHIN);
            }
            let from = due.max(play.stalls.judged_from[player]);
            let lacks = is_due
                && now > from
                && !link.is_gone
                && (play.gate.lacks(player) || must_sign(link) && !has_signed(player));
            let budget = &mut play.stalls.budgets[player];
            budget.note(now, lacks.then_some(from));
            if budget.is_relayed(now) {
                play.stalls.relayed_until[player] = now.plus(HELP_LASTS);
            }
        }
    }

    /// Whether this peer claims to have run fewer ticks, by more than its claim takes to arrive, although it has acknowledged
    /// the own input for its next tick: so it lacks another peer's.
    fn outruns(&self, link: &Link) -> bool {
        let play = &self.play;
        let behind = u64::from(play.history.ran().since(link.claims.ran));
        let apart = Duration::from_micros(behind * play.own.clock.tick_us().unsigned_abs());
        link.lacks_anothers() && apart > BEHIND + link.connection.rtt.timeout(Duration::ZERO)
    }

    /// Whether another peer has run the tick that this one waits for.
    fn is_behind(&self) -> bool {
        let next = self.play.gate.next();
        self.links.iter().any(|link| link.is_direct() && link.claims.ran > next)
    }

    /// A player's budget is spent: asks the user whether the match continues without it.
    fn open_question(&mut self, player: PlayerId) {
        let (until, is_last) = (self.now.plus(DECIDE_WITHIN), self.waits_for_lost(player));
        // A user who waits for a player that is silent is asked already.
        let play = &mut self.play;
        if play.stalls.question.is_some() || play.departures.awaited().is_some() {
            return;
        }
        play.stalls.question = Some(Question { player, until });
        self.out.event(if is_last { Event::Waiting { player } } else { Event::HoldsUp { player, until } });
    }

    /// The last of the other players, if it has spent its budget.
    pub(super) fn held_up_by_last(&self) -> Option<PlayerId> {
        let player = self.play.stalls.question?.player;
        self.waits_for_lost(player).then_some(player)
    }

    /// A player claims to have run the ticks from `from` until `before`: passes on its inputs for them to peers that are
    /// helped, who now take them from others.
    pub(super) fn relay_claimed(&mut self, player: PlayerId, from: Tick, before: Tick) {
        for link in 0..self.links.len() {
            let (play, Some(to)) = (&self.play, self.links.get(link)) else { return };
            if from < before
                && to.player != player
                && play.stalls.is_helped(to.player, self.now)
                && to.is_direct()
            {
                self.relay_one(link, (player, from), before, None);
            }
        }
    }

    /// A player has signed its inputs from the tick `before` on: passes them on to peers that are helped. What was lost of
    /// those before it they get again when they are helped again.
    pub(super) fn relay_signed(&mut self, player: PlayerId, before: Tick) {
        for link in 0..self.links.len() {
            let (play, Some(to)) = (&self.play, self.links.get(link)) else { return };
            let from = to.claims.ran.max(before);
            if to.player != player
                && play.stalls.is_helped(to.player, self.now)
                && to.is_direct()
                && let Some(head) = self.head_for(link, player)
            {
                self.relay_one(link, (player, from), from, Some(head));
            }
        }
    }

    /// Relays the inputs of one seat from a tick on, of ticks `before` one and of all that this head covers.
    fn relay_one(&mut self, link: usize, (seat, from): (PlayerId, Tick), before: Tick, head: Option<Head>) {
        let (seats, held) = (Seats::one(seat), core::iter::once(from.0).collect());
        let before = head.map_or(before, |head| before.max(Tick(head.tick)));
        self.relay(link, &Suspicion { seats, held, is_settled: false }, before, head);
    }

    /// Passes on what peers lack that hold the match up, or have not finished although all ticks have run here since
    /// `finished`, and claim to have run less than this peer.
    fn help_who_lacks(&mut self, is_running: bool, finished: Option<Time>) {
        let now = self.now;
        for link in 0..self.links.len() {
            let (play, Some(peer)) = (&self.play, self.links.get(link)) else { return };
            let (player, ran) = (peer.player, peer.claims.ran);
            let since = if is_running { play.stalls.since(player) } else { finished };
            let is_stuck = since.is_some_and(|since| now.since(since) >= BEHIND);
            let is_outrun = is_running && self.outruns(peer);
            if !(is_stuck && peer.lacks_anothers() || is_outrun)
                || ran >= play.history.ran()
                || now < play.stalls.help[player].again_at
                || !peer.is_direct()
            {
                continue;
            }
            // What it needs to run as many ticks, and what its author has signed beyond; the rest follows.
            let until = play.history.ran();
            let itself = Seats::one(player).with(self.me);
            for seat in (0..self.config.seats).map(PlayerId).filter(|&seat| !itself.contains(seat)) {
                let head = self.head_for(link, seat);
                self.relay_one(link, (seat, ran), until, head);
            }
            let again_at = now.plus(self.timeout_of(link, HELP_EVERY));
            self.play.stalls.help[player] = Help { again_at, until: now.plus(HELP_LASTS) };
        }
    }
}

impl Lockstep {
    /// Helps and judges those who hold the match up.
    pub(super) fn watch_stalls(&mut self) {
        let is_running = self.phase.is_running();
        let finished = match self.phase {
            Phase::Ending { end: End::Finished, since, is_closing: false } => Some(since),
            _ => None,
        };
        self.mesh.note_stalls(is_running);
        self.mesh.help_who_lacks(is_running, finished);
        self.close_question();
        let (now, is_behind) = (self.mesh.now, self.mesh.is_behind());
        // Who alone lacks an input asks the others for it, and no user has to decide on that.
        let asks = self.mesh.settings.on_loss == OnLoss::Wait && !is_behind;
        for link in 0..self.mesh.links.len() {
            let (play, Some(peer)) = (&self.mesh.play, self.mesh.links.get(link)) else { return };
            let player = peer.player;
            // Of two nobody else can be the cause.
            let lags = self.mesh.config.seats > 2 && peer.claims.ran < play.history.ran();
            if !peer.is_direct() || !play.stalls.budgets[player].is_spent(now, lags) {
                continue;
            }
            if asks {
                self.mesh.open_question(player);
            } else {
                self.suspect(player);
            }
        }
    }

    /// Closes the question once the player plays again, and answers it once the user has had time to. The last of the
    /// other players is waited for until the user decides.
    fn close_question(&mut self) {
        let (now, is_running) = (self.mesh.now, self.phase.is_running());
        let play = &mut self.mesh.play;
        let Some(Question { player, until }) = play.stalls.question else { return };
        let is_here = self.mesh.links.iter().any(|link| link.player == player && !link.is_gone);
        let is_open = is_here && !play.departures.suspects().contains(player);
        if matches!(self.phase, Phase::Searching { .. }) {
            return;
        }
        if !is_running || !is_open || !play.stalls.budgets[player].is_low(now) {
            play.stalls.question = None;
        } else if now >= until && !self.mesh.waits_for_lost(player) {
            self.go_on_without();
        }
    }

    /// The player who has spent its budget, and when the match continues without it unless the user waits on.
    #[must_use]
    pub fn held_up(&self) -> Option<(PlayerId, Time)> {
        let Question { player, until } =
            self.mesh.play.stalls.question.filter(|_| self.phase.is_running())?;
        (!self.mesh.waits_for_lost(player)).then_some((player, until))
    }

    /// Time that a player has spent of its budget of stalls.
    #[must_use]
    pub fn stalled(&self, player: PlayerId) -> Duration {
        self.mesh.play.stalls.spent(player, self.mesh.now)
    }

    /// The user waits on for [`Self::held_up`]: that player has its whole budget again.
    pub fn wait_longer(&mut self) {
        let play = &mut self.mesh.play;
        if let Some(Question { player, .. }) = play.stalls.question.take() {
            play.stalls.budgets[player].restore(self.mesh.now);
        }
    }

    /// The match continues without [`Self::held_up`], as soon as the others agree.
    pub fn go_on_without(&mut self) {
        let play = &mut self.mesh.play;
        if let Some(Question { player, .. }) = play.stalls.question.take() {
            self.suspect(player);
        }
    }
}
