//! One peer of ggrs, as a careful user would write its loop after ggrs's own guide: socket and input at
//! 60 Hz, a tick that could not advance is tried again until it can, `frames_ahead` slows the leader down.
//! It is polled more often than a game that draws would.

use anyhow::Context as _;
use ggrs::{
    Config, GgrsRequest, InputStatus, P2PSession, PlayerType, PredictRepeatLast, SessionBuilder,
    SessionState, UdpNonBlockingSocket,
};
use std::net::SocketAddr;
use std::time::Duration;

use crate::figures::{Click, PeerLog, Stall};
use crate::theirs::PeerArguments;
use net::Time;
use transport::clock;

/// A tick at 60 Hz.
pub(crate) const TICK: Duration = Duration::from_nanos(16_666_667);
/// Longest time between two looks at the socket.
const POLL_EVERY: Duration = Duration::from_micros(250);
/// What is shorter is not called a stall, here as in the arena.
const STALL_LEAST: Duration = Duration::from_micros(500);
/// How long a peer plays on once it has measured, so that the other's last ticks are no stall.
const LINGER: Duration = Duration::from_secs(1);
/// How long peers may take to find each other.
const SYNCHRONIZE_WITHIN: Duration = Duration::from_secs(20);
/// Longest time between two clicks, in ticks; the mean is half of it, as that of the arena's probe.
const CLICK_TICKS_MAX: u32 = 20;

/// What ggrs needs to know at compile time. The input is eight bytes.
pub(crate) struct Game;

impl Config for Game {
    type Input = u64;
    type InputPredictor = PredictRepeatLast;
    type State = u64;
    type Address = SocketAddr;
}

/// Plays, then prints what it noted as JSON.
pub(crate) fn run(arguments: PeerArguments) -> anyhow::Result<()> {
    let socket = UdpNonBlockingSocket::bind_to_port(0).context("opening a socket")?;
    let session = builder(2, arguments.prediction, arguments.delay)?
        .add_player(PlayerType::Local, arguments.player)?
        .add_player(PlayerType::Remote(arguments.remote), 1 - arguments.player)?
        .start_p2p_session(socket)?;
    let mut peer = Peer {
        session,
        delay: arguments.delay,
        player: arguments.player,
        due: Time(0),
        ran: Time(0),
        tried: None,
        clicks: Clicks::new(arguments.seed),
        state: 0,
        log: PeerLog::default(),
    };
    peer.synchronize()?;
    peer.play(Duration::from_millis(arguments.millis))?;
    println!("{}", serde_json::to_string(&peer.log)?);
    Ok(())
}

/// The released defaults, but for what is asked for.
pub(crate) fn builder(
    players: usize,
    prediction: usize,
    delay: usize,
) -> anyhow::Result<SessionBuilder<Game>> {
    let builder = SessionBuilder::<Game>::new().with_num_players(players)?.with_fps(60)?;
    Ok(builder.with_max_prediction_window(prediction).with_input_delay(delay))
}

struct Peer {
    session: P2PSession<Game>,
    /// In ticks.
    delay: usize,
    player: usize,
    /// When the next tick should run.
    due: Time,
    /// When the last one did.
    ran: Time,
    /// The tick that was tried last without success.
    tried: Option<i32>,
    clicks: Clicks,
    /// The game: all inputs, folded.
    state: u64,
    log: PeerLog,
}

impl Peer {
    fn synchronize(&mut self) -> anyhow::Result<()> {
        let until = clock::now().plus(SYNCHRONIZE_WITHIN);
        while self.session.current_state() != SessionState::Running {
            anyhow::ensure!(clock::now() < until, "the other peer was not found");
            self.session.poll_remote_clients();
            std::thread::sleep(POLL_EVERY);
        }
        self.due = clock::now();
        self.ran = self.due;
        self.clicks.begin(self.due);
        Ok(())
    }

    fn play(&mut self, length: Duration) -> anyhow::Result<()> {
        let end = self.due.plus(length + LINGER);
        loop {
            let now = clock::now();
            if now >= end {
                self.note_open_stall(now);
                return Ok(());
            }
            self.session.poll_remote_clients();
            // Nobody reads them; the queue is bounded.
            self.session.events();
            self.note_confirmed();
            while clock::now() >= self.due {
                if !self.advance()? {
                    break;
                }
            }
            let now = clock::now();
            let idle = if self.tried.is_some() { POLL_EVERY } else { self.due.since(now).min(POLL_EVERY) };
            std::thread::sleep(idle);
        }
    }

    /// Tries to run the next tick.
    fn advance(&mut self) -> anyhow::Result<bool> {
        let (tick, now) = (self.session.current_frame(), clock::now());
        if self.tried != Some(tick) {
            let effective = tick as usize + self.delay;
            self.log.captured_us.resize(effective, None);
            self.log.captured_us.push(Some(now.as_micros()));
            self.log.clicks.extend(self.clicks.take(now, effective as u32));
        }
        self.session.add_local_input(self.player, self.clicks.input())?;
        let requests = self.session.advance_frame()?;
        self.handle(requests);
        let ran = clock::now();
        let is_retry = self.tried.replace(tick) == Some(tick);
        self.note_settled(ran);
        if self.session.current_frame() == tick {
            return Ok(false);
        }
        self.tried = None;
        let due = self.due.max(self.ran);
        if now.since(due) >= STALL_LEAST {
            let stall = Stall { due_us: due.as_micros(), ran_us: now.as_micros(), is_network: is_retry };
            self.log.stalls.push(stall);
        }
        self.log.ran_us.push(now.as_micros());
        self.ran = ran;
        let ahead = f64::from(self.session.frames_ahead().clamp(0, 3));
        self.due = self.due.plus(TICK.mul_f64(1.0 + 0.1 * ahead));
        Ok(true)
    }

    fn handle(&mut self, requests: Vec<GgrsRequest<Game>>) {
        for request in requests {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => cell.save(frame, Some(self.state), None),
                GgrsRequest::LoadGameState { cell, .. } => self.state = cell.load().unwrap_or_default(),
                GgrsRequest::AdvanceFrame { inputs } => self.state = step(self.state, &inputs),
            }
        }
    }

    /// How many ticks have run that no input can change any more.
    fn certain(&self) -> usize {
        let last = self.session.confirmed_frame().min(self.session.current_frame() - 1);
        usize::try_from(last + 1).unwrap_or_default()
    }

    fn note_confirmed(&mut self) {
        let certain = self.certain().max(self.log.confirmed_us.len());
        self.log.confirmed_us.resize(certain, clock::now().as_micros());
    }

    /// After the session had the chance to run ticks again.
    fn note_settled(&mut self, now: Time) {
        self.note_confirmed();
        let certain = self.certain().max(self.log.settled_us.len());
        self.log.settled_us.resize(certain, now.as_micros());
    }

    fn note_open_stall(&mut self, now: Time) {
        if self.tried.is_some() {
            let due_us = self.due.max(self.ran).as_micros();
            self.log.stalls.push(Stall { due_us, ran_us: now.as_micros(), is_network: true });
        }
    }
}

fn step(state: u64, inputs: &[(u64, InputStatus)]) -> u64 {
    inputs.iter().fold(state, |state, (input, _)| mixed(state.rotate_left(7) ^ input))
}

/// Every bit from every bit (SplitMix64).
pub(crate) const fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A player who changes its input at random instants, off the tick grid.
struct Clicks {
    random: fastrand::Rng,
    next: Time,
    count: u64,
}

impl Clicks {
    fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), next: Time(0), count: 0 }
    }

    fn begin(&mut self, now: Time) {
        self.next = now.plus(self.gap());
    }

    fn gap(&mut self) -> Duration {
        (TICK * CLICK_TICKS_MAX).mul_f64(self.random.f64())
    }

    /// The clicks until `now`; they go into `tick`.
    fn take(&mut self, now: Time, tick: u32) -> Vec<Click> {
        let mut taken = Vec::new();
        while self.next <= now {
            taken.push(Click { at_us: self.next.as_micros(), tick });
            self.count += 1;
            self.next = self.next.plus(self.gap());
        }
        taken
    }

    const fn input(&self) -> u64 {
        mixed(self.count)
    }
}
