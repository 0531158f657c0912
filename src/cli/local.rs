//! A match on this computer alone: one seat for the player, bots in the others.

use anyhow::Context as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::args::{
    BotChoice, HostArguments, JoinArguments, NetworkArguments, OutputArguments, PlayArguments,
    TermsArguments, usual,
};
use super::setup;
use mini_rts_arena::game::{Match, MatchClock, MatchThread};
use mini_rts_arena::net::PlayerName;
use mini_rts_arena::transport::{PortChoice, Udp};

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
        let seats = 1..arguments.table.players;
        let others =
            seats.map(|seat| opponent(arguments, seat, address, &clock)).collect::<anyhow::Result<_>>()?;
        let seed = prepared.seed.unwrap_or_default();
        Ok(Self { game: prepared.game.with_clock(clock.clone()), udp, seed, clock, others })
    }
}

fn opponent(
    arguments: &PlayArguments,
    seat: u8,
    host: SocketAddr,
    clock: &MatchClock,
) -> anyhow::Result<MatchThread> {
    let udp = Udp::bind(host.ip(), PortChoice::Any)?;
    let mut join = JoinArguments { seat: Some(seat), ..usual() };
    let game = &mut join.game;
    game.player.name = Some(opponent_name(arguments.bot, arguments.table.players, seat)?);
    game.player.hero = arguments.bot.hero();
    game.player.input_delay = arguments.player.input_delay;
    game.bot = Some(arguments.bot);
    // Only files must be given to every peer; what is built in all have.
    game.terms.map.clone_from(&arguments.terms.map);
    game.terms.rules.clone_from(&arguments.terms.rules);
    game.output = OutputArguments { headless: true, record: Some("off".into()), json: false };
    let prepared = setup::join(&join, host, &udp.reachable_at())?;
    MatchThread::start(prepared.game.with_clock(clock.clone()), udp, None)
        .context("the system has no thread left")
}

/// What a bot is called: with its seat, if there are several.
fn opponent_name(bot: BotChoice, players: u8, seat: u8) -> anyhow::Result<PlayerName> {
    let name = match bot {
        BotChoice::None => "Nobody",
        BotChoice::Easy => "Easy bot",
        BotChoice::Normal => "Normal bot",
        BotChoice::Hard => "Hard bot",
        BotChoice::Probe => "Probe",
        BotChoice::Sparring => "Trainer",
    };
    Ok(if players == 2 { PlayerName::new(name)? } else { PlayerName::new(&format!("{name} {seat}"))? })
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
