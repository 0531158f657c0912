//! The screens, and the transitions between them.

mod attract;
mod both;
mod camera_control;
mod form;
mod help;
mod host;
mod join;
mod ladder;
mod lobby;
mod map_preview;
mod menu;
mod net_graph;
mod notices;
mod offers;
mod play;
mod prompt;
mod replays;
mod result;
mod result_graph;
mod scores;
mod settings;
mod start;
mod time_line;
mod training;
mod tutorial_card;
mod waiting;
mod watch;

use serde_json::Value;
use std::path::{Path, PathBuf};

use super::context::AppContext;
use super::input::Input;
use super::launch::{Game, LaunchRequest};
use super::page::Page;
use super::sound::MusicState;
use super::window::{scale, scale_for};
use crate::cli::args::JoinArguments;
use attract::Attract;
use both::BothScreen;
use game::{Finished, View};
use host::HostScreen;
use join::JoinScreen;
use lab::compare::Cell;
use ladder::LadderScreen;
use play::PlayScreen;
use replays::ReplaysScreen;
use result::ResultScreen;
use start::StartScreen;
use waiting::WaitingScreen;
use watch::WatchScreen;

/// Transition to another screen.
pub(crate) enum Next {
    Start,
    HostSetup,
    Ladder,
    /// The list of matches, with the arguments for joining if they were given.
    Join(Option<Box<JoinArguments>>),
    Launch(LaunchRequest),
    /// All players have joined.
    Play(Box<Game>),
    /// The match could not be played.
    Failed(LaunchRequest, waiting::Failure),
    /// The match is over.
    Over(Box<result::Over>),
    Replays,
    Watch(PathBuf),
    /// Both seats under both architectures.
    Both(Box<Cell>, u64),
    Quit,
}

/// Current screen.
pub(crate) enum Screen {
    /// Placeholder during a transition.
    Gone,
    Start(Box<StartScreen>),
    Host(Box<HostScreen>),
    Join(Box<JoinScreen>),
    Ladder(Box<LadderScreen>),
    Replays(Box<ReplaysScreen>),
    Waiting(Box<WaitingScreen>),
    Play(Box<PlayScreen>),
    Result(Box<ResultScreen>),
    Watch(Box<WatchScreen>),
    Both(Box<BothScreen>),
}

impl Screen {
    /// Changes to the next screen.
    pub(crate) fn follow(self, next: Next, context: &mut AppContext) -> Self {
        // Another match may follow a finished one.
        let (attract, party) = match (self, &next) {
            (Self::Play(screen), Next::Over(_)) => (Attract::new(), screen.into_party()),
            (screen, _) => (screen.into_attract(), None),
        };
        match next {
            Next::Start | Next::Quit => Self::Start(Box::new(StartScreen::new(attract))),
            Next::HostSetup => Self::Host(Box::new(HostScreen::new(attract))),
            Next::Ladder => Self::Ladder(Box::new(LadderScreen::new(attract, context.ladder.progress()))),
            Next::Replays => Self::Replays(Box::new(ReplaysScreen::new(attract))),
            Next::Join(arguments) => {
                let address = arguments.as_ref().and_then(|arguments| arguments.address.clone());
                let screen = JoinScreen::new(attract, arguments);
                match address.map(|address| screen.request_for(&address, context)) {
                    None => Self::Join(Box::new(screen)),
                    Some(Ok(request)) => Self::launch(screen.attract, request),
                    Some(Err(why)) => {
                        context.note(why);
                        Self::Join(Box::new(screen))
                    }
                }
            }
            Next::Launch(request) => Self::launch(attract, request),
            Next::Play(game) => Self::Play(Box::new(PlayScreen::new(*game))),
            Next::Failed(request, why) => {
                Self::Waiting(Box::new(WaitingScreen::failed(attract, request, why)))
            }
            Next::Over(mut over) => {
                over.count(context);
                if let Some(kind) = over.sound() {
                    context.sound.play(kind);
                }
                Self::Result(Box::new(ResultScreen::new(*over, party)))
            }
            Next::Both(cell, seed) => match BothScreen::open(&cell, seed) {
                Ok(screen) => Self::Both(Box::new(screen)),
                Err(error) => {
                    context.note(error.to_string());
                    Self::Start(Box::new(StartScreen::new(attract)))
                }
            },
            Next::Watch(file) => match WatchScreen::open(&file) {
                Ok(screen) => Self::Watch(Box::new(screen)),
                Err(error) => {
                    context.note(format!("{}: {error}", file.display()));
                    Self::Start(Box::new(StartScreen::new(attract)))
                }
            },
        }
    }

    fn launch(attract: Attract, request: LaunchRequest) -> Self {
        Self::Waiting(Box::new(WaitingScreen::start(attract, request)))
    }

    /// Returns the attract mode behind this menu, if it has one.
    pub(crate) fn attract(&mut self) -> Option<&mut Attract> {
        Some(match self {
            Self::Start(screen) => &mut screen.attract,
            Self::Host(screen) => &mut screen.attract,
            Self::Join(screen) => &mut screen.attract,
            Self::Ladder(screen) => &mut screen.attract,
            Self::Replays(screen) => &mut screen.attract,
            Self::Waiting(screen) => &mut screen.attract,
            _ => return None,
        })
    }

    /// Returns the attract mode, advanced: each menu shows a later moment.
    fn into_attract(self) -> Attract {
        let attract = match self {
            Self::Start(screen) => screen.attract,
            Self::Host(screen) => screen.attract,
            Self::Join(screen) => screen.attract,
            Self::Ladder(screen) => screen.attract,
            Self::Replays(screen) => screen.attract,
            Self::Waiting(screen) => screen.attract,
            _ => return Attract::new(),
        };
        attract.later()
    }

    /// Handles input and match news, and draws the arena of a running match.
    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: Vec<Input>) -> Option<Next> {
        match self {
            Self::Start(screen) => screen.take(context, &inputs),
            Self::Host(_) | Self::Join(_) | Self::Ladder(_) | Self::Replays(_) | Self::Gone => {}
            Self::Waiting(screen) => return screen.arena(context, &inputs),
            Self::Play(screen) => return screen.arena(context, inputs),
            Self::Result(screen) => return screen.arena(context, &inputs),
            Self::Watch(screen) => screen.arena(context, inputs),
            Self::Both(screen) => screen.arena(context, &inputs),
        }
        None
    }

    /// Whether the background is the attract mode rather than a running match.
    pub(crate) const fn has_backdrop(&self) -> bool {
        !self.is_lively()
    }

    /// Whether other people may change the screen at any moment.
    pub(crate) const fn awaits_others(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Result(_))
    }

    /// Draws the background of a menu.
    pub(crate) fn draw_backdrop(&mut self, context: &mut AppContext) {
        if let Some(attract) = self.attract() {
            attract.draw(context);
        } else if let Self::Result(screen) = self {
            screen.draw_backdrop(context);
        }
    }

    /// Lays out the page.
    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        match self {
            Self::Start(screen) => screen.page(context, page),
            Self::Host(screen) => screen.page(context, page),
            Self::Join(screen) => screen.page(context, page),
            Self::Ladder(screen) => screen.page(context, page),
            Self::Replays(screen) => screen.page(page),
            Self::Waiting(screen) => screen.page(context, page),
            Self::Play(screen) => screen.page(context, page),
            Self::Result(screen) => screen.page(context, page),
            Self::Watch(screen) => screen.page(page),
            Self::Both(screen) => screen.page(page),
            Self::Gone => None,
        }
    }

    /// Leaves the match, since the window is closing.
    pub(crate) fn close(self, context: &mut AppContext) {
        match self {
            Self::Waiting(screen) => screen.close(),
            Self::Play(screen) => screen.close(context),
            Self::Result(screen) => screen.close(),
            _ => {}
        }
    }

    /// Whether the next click is an attack-move target.
    pub(crate) fn is_aiming(&self) -> bool {
        matches!(self, Self::Play(screen) if screen.is_aiming())
    }

    /// Whether keys are being captured for a binding instead of having their meanings.
    pub(crate) fn takes_keys(&self) -> bool {
        match self {
            Self::Start(screen) => screen.takes_keys(),
            Self::Play(screen) => screen.takes_keys(),
            _ => false,
        }
    }

    /// Returns the state that the music follows.
    pub(crate) fn music(&self) -> MusicState {
        match self {
            Self::Play(screen) => screen.music(),
            Self::Watch(screen) => screen.music(),
            Self::Result(screen) => screen.music(),
            Self::Both(_) | Self::Gone => MusicState::Silent,
            Self::Start(_)
            | Self::Host(_)
            | Self::Join(_)
            | Self::Ladder(_)
            | Self::Replays(_)
            | Self::Waiting(_) => MusicState::Menu,
        }
    }

    /// Whether the screen is animated and watched.
    pub(crate) const fn is_lively(&self) -> bool {
        matches!(self, Self::Play(_) | Self::Watch(_) | Self::Both(_))
    }

    /// Returns the page's scale, in pixels per point.
    pub(crate) fn scale(&self) -> f32 {
        let shows_help = match self {
            Self::Start(screen) => screen.shows_help(),
            Self::Play(screen) => screen.shows_help(),
            _ => false,
        };
        match self {
            Self::Result(screen) => scale_for(screen.room()),
            Self::Ladder(_) => scale_for(help::LARGEST_ROOM),
            _ if shows_help || self.name() == "lobby" => scale_for(help::LARGEST_ROOM),
            _ => scale(),
        }
    }

    /// Whether the arena's own interface must be legible.
    pub(crate) const fn shows_arena(&self) -> bool {
        matches!(self, Self::Play(_) | Self::Watch(_) | Self::Both(_))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Gone => "none",
            Self::Start(_) => "start",
            Self::Host(_) => "host",
            Self::Join(_) => "join",
            Self::Ladder(_) => "ladder",
            Self::Replays(_) => "replays",
            Self::Waiting(screen) => screen.name(),
            Self::Play(_) => "match",
            Self::Result(_) => "result",
            Self::Watch(_) => "replay",
            Self::Both(_) => "both",
        }
    }

    /// Returns facts of a match, for tests.
    pub(crate) fn facts(&self) -> Value {
        match self {
            Self::Play(screen) => screen.facts(),
            Self::Result(screen) => screen.facts(),
            Self::Watch(screen) => screen.facts(),
            Self::Both(screen) => screen.facts(),
            Self::Waiting(screen) => screen.facts(),
            _ => Value::Null,
        }
    }
}

/// Returns the latest replay.
fn newest_replay() -> Option<PathBuf> {
    replays::newest_replays().ok()?.into_iter().next()
}

/// Describes a replay in a line.
fn describe_replay(file: &Path) -> String {
    let Ok(replay) = replay::Replay::open(file) else { return "unreadable".into() };
    let header = replay.header();
    let names: Vec<&str> = header.seats.iter().map(|seat| seat.name.as_str()).collect();
    let length = replay
        .promised_ticks()
        .map_or_else(String::new, |ticks| format!(", {}", play::match_clock(ticks, header.tick_rate.hz())));
    format!("{}{length}", names.join(" against "))
}

/// Builds the result screen.
pub(crate) fn over(game: &mut Game, view: Option<View>, finished: Finished) -> Next {
    match finished.result {
        Ok(summary) => Next::Over(Box::new(result::Over::new(game, view, summary, finished.link))),
        Err(error) => Next::Failed(game.request.clone(), waiting::Failure::of(&error, &game.request)),
    }
}
