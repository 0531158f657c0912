//! The network graph: round-trip time and input delay of the last seconds as two lines, the drops since the match
//! began, and the table's authentication string.

use egui_macroquad::egui::{Align2, Color32, Rect, Stroke, pos2, vec2};
use std::collections::VecDeque;

use crate::gui::draw::NetStatus;
use crate::gui::page::Page;
use crate::gui::theme;
use net::{AuthString, DropCounts};

/// Number of samples kept: ten seconds.
const SAMPLES_MAX: usize = 200;
const SAMPLE_EVERY_S: f64 = 0.05;
/// Height of a text line below the graph, in points: the drops and the authentication string.
const LINE_HEIGHT: f32 = 20.0;
/// Minimum range of the vertical axis, in milliseconds.
const TOP_LEAST_MS: f32 = 20.0;

/// Round-trip time and input delay over time.
#[derive(Default)]
pub(super) struct NetGraph {
    samples: VecDeque<Sample>,
    sample_at: f64,
    dropped: DropCounts,
    words: Option<AuthString>,
}

#[derive(Clone, Copy)]
struct Sample {
    rtt_ms: f32,
    delay_ms: f32,
    is_stalled: bool,
}

impl NetGraph {
    /// Takes a sample, if the interval has passed.
    pub(super) fn sample(&mut self, now: f64, net: &NetStatus) {
        if now < self.sample_at {
            return;
        }
        self.sample_at = now + SAMPLE_EVERY_S;
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        (self.dropped, self.words) = (net.dropped, net.words);
        let is_stalled = net.stalled.is_some();
        self.samples.push_back(Sample { rtt_ms: net.rtt_ms, delay_ms: net.delay_ms, is_stalled });
    }

    /// Draws the graph at the right edge.
    pub(super) fn draw(&self, page: &mut Page<'_>) {
        let window = page.window();
        let rect = Rect::from_min_size(
            pos2(window.right() - 276.0, window.top() + 70.0),
            vec2(260.0, 130.0 + 2.0 * LINE_HEIGHT),
        );
        page.plate("net graph", rect);
        let Some(last) = self.samples.back().copied() else { return };
        let inside = rect.shrink(10.0);
        page.within("net graph", |page| {
            let texts = [
                ("rtt", theme::BLUE, format!("RTT {:.1} ms", last.rtt_ms), inside.left(), Align2::LEFT_TOP),
                (
                    "delay",
                    theme::GOLD,
                    format!("delay {:.1} ms", last.delay_ms),
                    inside.right(),
                    Align2::RIGHT_TOP,
                ),
            ];
            for (name, colour, text, x, align) in texts {
                page.text(name, pos2(x, inside.top()), align, (theme::SMALL, colour), &text, 120.0);
            }
            let text = match self.dropped.total() {
                0 => "dropped: nothing".to_owned(),
                _ => format!("dropped: {}", self.dropped),
            };
            let style = (theme::SMALL, theme::QUIET);
            let words = self.words.map_or_else(String::new, |words| words.to_string());
            page.text("words", inside.left_bottom(), Align2::LEFT_BOTTOM, style, &words, inside.width());
            let above = inside.left_bottom() - vec2(0.0, LINE_HEIGHT);
            page.text("dropped", above, Align2::LEFT_BOTTOM, style, &text, inside.width());
        });
        let plot =
            Rect::from_min_max(inside.min + vec2(0.0, 22.0), inside.max - vec2(0.0, 2.0 * LINE_HEIGHT));
        let most = self.samples.iter().map(|sample| sample.rtt_ms.max(sample.delay_ms));
        let top = most.fold(TOP_LEAST_MS, f32::max) * 1.1;
        let x = |at: usize| plot.left() + plot.width() * at as f32 / (SAMPLES_MAX - 1) as f32;
        let painter = page.ui.painter();
        for (at, sample) in self.samples.iter().enumerate().filter(|(_, sample)| sample.is_stalled) {
            let _ = sample;
            painter.vline(x(at), plot.y_range(), Stroke::new(1.5, theme::RED));
        }
        let line = |of: fn(&Sample) -> f32, colour: Color32| {
            let y = |ms: f32| plot.bottom() - plot.height() * (ms / top).min(1.0);
            let points = self.samples.iter().enumerate().map(|(at, sample)| pos2(x(at), y(of(sample))));
            painter.line(points.collect(), Stroke::new(1.5, colour));
        };
        line(|sample| sample.rtt_ms, theme::BLUE);
        line(|sample| sample.delay_ms, theme::GOLD);
    }
}
