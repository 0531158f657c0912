//! A match on this computer alone: one seat for the player, bots in the others.

use anyhow::Context as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::args::{
    BotChoice, HostArguments, JoinArguments, MatchArguments, NetworkArguments, OutputArguments,
    PlayArguments, TermsArguments, usual,
};
use super::setup;
use game::{Match, MatchClock, MatchThread};
use net::PlayerName;
use transport::{PortChoice, Udp};

/// A match over loopback: the same way as over a network, so that there is one way to be right.
pub(crate) struct LocalMatch {
    /// The player's match, in seat 0, not started.
    pub(crate) game: Match,
    /// Its socket.
    pub(crate) udp: Udp,
    pub(crate) seed: u64,
    /// The clock of all its seats.
    #[cfg_attr(not(feature = "gui"), expect(dead_code, reason = "only the window halts it"))]
    pub(crate) clock: MatchClock,
    /// The bots, which leave when they are dropped.
    pub(crate) others: Vec<MatchThread>,
}

impl LocalMatch {
    /// Prepares it, and lets the bots take their seats.
    pub(crate) fn start(arguments: &PlayArguments) -> anyhow::Result<Self> {
        let udp = Udp::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), PortChoice::Any)?;
        let address = udp.local_address();
        let prepared = setup::host(&arguments.as_host(), address.port())?;
        let clock = MatchClock::default();
        let others = 1..arguments.table.players;
        let others = others.map(|seat| {
            let mut game: MatchArguments = usual();
            game.player.input_delay = arguments.player.input_delay;
            game.terms = arguments.terms.clone();
            game.output = OutputArguments { headless: true, ..game.output };
            let is_only = arguments.table.players == 2;
            start_bot(game, (arguments.bot, is_only), seat, address, clock.clone())
        });
        let others = others.collect::<anyhow::Result<_>>()?;
        let seed = prepared.seed.unwrap_or_default();
        Ok(Self { game: prepared.game.with_clock(clock.clone()), udp, seed, clock, others })
    }
}

/// Lets a bot take a seat of the match at `host`, which this computer hosts. `game` is what it shares with the
/// player who hosts: rules and map, which it must have if they are files, input delay, room code.
pub(crate) fn start_bot(
    game: MatchArguments,
    (bot, is_only): (BotChoice, bool),
    seat: u8,
    host: SocketAddr,
    clock: MatchClock,
) -> anyhow::Result<MatchThread> {
    let udp = Udp::bind(host.ip(), PortChoice::Any)?;
    let mut join = JoinArguments { seat: Some(seat), ..usual() };
    join.game.player.name = Some(bot_name(bot, is_only, seat)?);
    join.game.player.hero = bot.hero();
    join.game.player.input_delay = game.player.input_delay;
    join.game.bot = Some(bot);
    join.game.terms.map = game.terms.map;
    join.game.terms.rules = game.terms.rules;
    join.game.network.room = game.network.room;
    join.game.output = OutputArguments { record: Some("off".into()), json: false, ..game.output };
    let prepared = setup::join(&join, &[host], &udp.reachable_at())?;
    MatchThread::start(prepared.game.with_clock(clock), udp, None).context("the system has no thread left")
}

/// What a bot is called: with its seat, unless it is the only one.
fn bot_name(bot: BotChoice, is_only: bool, seat: u8) -> anyhow::Result<PlayerName> {
    let name = match bot {
        BotChoice::None => "Nobody",
        BotChoice::Easy => "Easy bot",
        BotChoice::Normal => "Normal bot",
        BotChoice::Hard => "Hard bot",
        BotChoice::Probe => "Probe",
        BotChoice::Sparring => "Trainer",
    };
    Ok(if is_only { PlayerName::new(name)? } else { PlayerName::new(&format!("{name} {seat}"))? })
}

impl PlayArguments {
    /// The arguments of `arena host` that correspond to the player's seat.
    pub(crate) fn as_host(&self) -> HostArguments {
        let mut host: HostArguments = usual();
        host.table.clone_from(&self.table);
        let game = &mut host.game;
        game.player.clone_from(&self.player);
        game.bot = Some(if self.output.headless { BotChoice::Normal } else { BotChoice::None });
        let rules = self.terms.rules.clone().or_else(|| self.bot.rules());
        game.terms = TermsArguments { rules, ..self.terms.clone() };
        game.network = NetworkArguments { link: self.link.clone(), ..usual() };
        // Nobody is waited for, before or after.
        game.output = OutputArguments { headless: true, ..self.output.clone() };
        host
    }
}
