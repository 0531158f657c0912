//! A match on this computer alone: one seat for the player, bots in the others.

use anyhow::Context as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::args::{
    BotChoice, HostArguments, JoinArguments, MatchArguments, NetworkArguments, OutputArguments,
    PlayArguments, TableArguments, Teams, TermsArguments, usual,
};
use super::setup;
use bot::BotLevel;
use game::{Match, MatchClock, MatchThread};
use net::PlayerName;
use sim::KindId;
use transport::{PortChoice, Udp};

/// Match over loopback: it uses the network protocol, so that there is only one code path to get right.
pub(crate) struct LocalMatch {
    /// Match of the player, in seat 0, not started.
    pub(crate) game: Match,
    /// Socket of the player's match.
    pub(crate) udp: Udp,
    pub(crate) seed: u64,
    /// Clock of all seats.
    #[cfg_attr(not(feature = "gui"), expect(dead_code, reason = "only the window halts it"))]
    pub(crate) clock: MatchClock,
    /// Bots, which leave when they are dropped.
    pub(crate) others: Vec<MatchThread>,
}

impl LocalMatch {
    /// Prepares the match, and starts the bots.
    pub(crate) fn start(arguments: &PlayArguments) -> anyhow::Result<Self> {
        let udp = Udp::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), PortChoice::Any)?;
        let address = udp.local_address();
        let prepared = setup::host(&arguments.as_host(), address.port())?;
        let clock = MatchClock::default();
        let players = arguments.table().players;
        let others = 1..players;
        let others = others.map(|seat| {
            let mut game: MatchArguments = usual();
            game.player.input_delay = arguments.player.input_delay;
            game.terms = arguments.terms();
            game.output = OutputArguments { headless: true, ..game.output };
            start_bot(game, (arguments.bot_of(seat), players == 2), seat, address, clock.clone())
        });
        let others = others.collect::<anyhow::Result<_>>()?;
        let seed = prepared.seed.unwrap_or_default();
        Ok(Self { game: prepared.game.with_clock(clock.clone()), udp, seed, clock, others })
    }
}

/// Starts a bot for a seat of the match at `host`, which this computer hosts. `game` holds what it shares with the
/// hosting player: rules and map, which it needs if they are files, input delay, room code.
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
    join.game.player.input_delay = game.player.input_delay;
    if let BotChoice::Rival(rival) = bot {
        join.game.player.hero = Some(rival.hero);
    }
    join.game.bot = Some(bot);
    join.game.terms.map = game.terms.map;
    join.game.terms.rules = game.terms.rules;
    join.game.network.room = game.network.room;
    join.game.output = OutputArguments { record: Some("off".into()), json: false, ..game.output };
    let prepared = setup::join(&join, &[host], &udp.reachable_at())?;
    MatchThread::start(prepared.game.with_clock(clock), udp, None).context("the system has no thread left")
}

/// Names a bot: with its seat, unless it is the only one.
fn bot_name(bot: BotChoice, is_only: bool, seat: u8) -> anyhow::Result<PlayerName> {
    let name = match bot {
        BotChoice::None => "Nobody",
        BotChoice::Easy => "Easy bot",
        BotChoice::One => "Level 1 bot",
        BotChoice::Two => "Level 2 bot",
        BotChoice::Normal => "Normal bot",
        BotChoice::Four => "Level 4 bot",
        BotChoice::Hard => "Hard bot",
        BotChoice::Probe => "Probe",
        BotChoice::Sparring => "Trainer",
        BotChoice::Rival(rival) => return Ok(rival.name),
        BotChoice::Exec(_) => "Own bot",
    };
    Ok(if is_only { PlayerName::new(name)? } else { PlayerName::new(&format!("{name} {seat}"))? })
}

impl PlayArguments {
    /// Returns the bot of a seat, counted from 1.
    fn bot_of(&self, seat: u8) -> BotChoice {
        let rival = self.opponent.and_then(|opponent| opponent.rivals.get(usize::from(seat).checked_sub(1)?));
        rival.map_or(self.bot, BotChoice::Rival)
    }

    /// Returns the terms of the match: those of the opponent, if there is one.
    fn terms(&self) -> TermsArguments {
        let terms = self.terms.clone();
        let Some(opponent) = self.opponent else { return terms };
        let [rules, map] = [&opponent.rules.name, &opponent.map.name].map(|name| Some(name.into()));
        TermsArguments { rules, map, ..terms }
    }

    /// Returns seats and teams of the match: those of the opponent, if there is one.
    fn table(&self) -> TableArguments {
        let table = self.table.clone();
        let Some(opponent) = self.opponent else { return table };
        let teams: Vec<u8> = opponent.seats(KindId(0)).iter().map(|seat| seat.team).collect();
        TableArguments { players: teams.len() as u8, teams: Some(Teams::Each(teams)), ..table }
    }

    /// Whether all bots are easy.
    #[cfg_attr(not(feature = "gui"), expect(dead_code, reason = "only the window trains by itself"))]
    pub(crate) fn is_easy(&self) -> bool {
        self.opponent.map_or(self.bot == BotChoice::Easy, |opponent| {
            opponent.rivals.iter().all(|rival| rival.level == BotLevel::Easy)
        })
    }

    /// Returns the arguments of `arena host` that correspond to the player's seat.
    pub(crate) fn as_host(&self) -> HostArguments {
        let mut host: HostArguments = usual();
        host.table = self.table();
        let game = &mut host.game;
        game.player.clone_from(&self.player);
        game.bot = Some(if self.output.headless { BotChoice::Normal } else { BotChoice::None });
        let terms = self.terms();
        game.terms = TermsArguments { rules: terms.rules.or_else(|| self.bot.rules()), ..terms };
        game.network = NetworkArguments { link: self.link.clone(), ..usual() };
        // There is nobody to wait for, before or after the match.
        game.output = OutputArguments { headless: true, ..self.output.clone() };
        host
    }
}
