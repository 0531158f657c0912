//! One panel: axes, lines and points as an SVG without fixed colours. Every colour is a variable of the page's style
//! sheet, so that the same SVG serves light mode, dark mode and print.

use core::fmt::Display;
use maud::{Markup, html};

use crate::compare::statistics::Mean;
use crate::compare::wording::short;

/// Size of a panel in its own units; it is displayed at 50 to 75 %.
const SIZE: [f64; 2] = [760.0, 560.0];
/// Left, right, upper and lower edge of the area inside the axes.
const AREA: [f64; 4] = [128.0, 726.0, 16.0, 472.0];
/// Minimum upper end of an axis; below it there is nothing to show.
const LEAST: f64 = 1e-6;
/// Factor between the largest value and the end of the axis.
const ROOM: f64 = 1.08;
/// Size of text, and the mean width of a character as a share of it.
const LETTERS: f64 = 30.0;
const LETTER_WIDTH: f64 = 0.54;
/// Size of a point's name, and the height of a capital or digit as a share of it.
const NAME_LETTERS: f64 = 24.0;
const CAPITAL_HEIGHT: f64 = 0.73;
/// Half the size of a marker.
const MARKER: f64 = 12.0;
/// Ratio of the largest value to the median above which a linear axis would compress all other values.
const OUTLIER_RATIO: f64 = 10.0;

/// Panel of a figure.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    /// Horizontal axis.
    pub(super) x: Axis,
    /// Vertical axis.
    pub(super) y: Axis,
    /// Lines and points, in drawing order.
    pub(super) lines: Vec<Line>,
}

/// Axis with its title and range.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Quantity and unit.
    pub(super) title: String,
    /// Both ends.
    pub(super) range: [f64; 2],
    /// Labels of 0, 1, …, in place of numbers.
    pub(super) names: Vec<String>,
    /// Whether the scale is logarithmic; then both ends are 1, 2 or 5 times a power of ten.
    pub(super) is_logarithmic: bool,
}

/// Series of points, joined or not.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Points from left to right, or in the order in which they are joined.
    pub(super) points: Vec<Point>,
    /// Appearance.
    pub(super) pen: Pen,
    /// Whether the points are joined.
    pub(super) is_joined: bool,
    /// Name in the legend; empty if another line has it.
    pub(super) name: String,
}

/// Point of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    /// Horizontal and vertical position.
    pub(super) at: (f64, f64),
    /// Ends of the error bar.
    pub(super) interval: Option<[f64; 2]>,
    /// Label.
    pub(super) name: String,
}

/// Colour, marker and dash; each alone distinguishes the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    /// Index of the page's colours: six for lines, then that of text.
    pub(super) ink: u8,
    /// Marker at each point.
    pub(super) marker: Marker,
    /// Dash pattern of the line.
    pub(super) dash: Dash,
}

/// Shape at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Disc,
    Square,
    Triangle,
    Diamond,
    Ring,
    Cross,
}

/// Dash pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

impl Plot {
    /// Creates a plot of lines between two axes that begin at zero.
    pub(super) fn from_zero(x: impl Display, y: impl Display, lines: Vec<Line>) -> Self {
        let points = || lines.iter().flat_map(|line| &line.points);
        let x = Axis::from_zero(x, points().map(|point| point.at.0));
        let values: Vec<f64> = points().map(|point| point.at.1).collect();
        let y = Axis::fitting(y, &values);
        Self { x, y, lines }
    }
}

impl Line {
    /// Creates a named line of joined points.
    pub(super) fn joined(points: Vec<Point>, pen: Pen, name: impl Into<String>) -> Self {
        Self { points, pen, is_joined: true, name: name.into() }
    }

    /// Creates a named line of points without a joining line.
    pub(super) fn marked(points: Vec<Point>, pen: Pen, name: impl Into<String>) -> Self {
        Self { is_joined: false, ..Self::joined(points, pen, name) }
    }
}

impl Point {
    pub(super) fn at(x: f64, y: f64) -> Self {
        Self { at: (x, y), ..Self::default() }
    }

    /// Creates a point for a mean with its interval.
    pub(super) fn of(x: f64, mean: Mean) -> Self {
        Self { interval: mean.interval, ..Self::at(x, mean.value) }
    }
}

impl Pen {
    fn ink(self) -> String {
        format!("var(--ink-{})", self.ink)
    }

    const fn dashes(self) -> Option<&'static str> {
        match self.dash {
            Dash::Solid => None,
            Dash::Dashed => Some("16 10"),
            Dash::Dotted => Some("3 10"),
        }
    }

    /// Removes the marker.
    pub(super) const fn line(self) -> Self {
        Self { marker: Marker::None, ..self }
    }
}

impl Marker {
    /// Returns the outline around the point, and whether it is filled.
    const fn outline(self) -> Option<(&'static str, bool)> {
        match self {
            Self::None => None,
            Self::Disc => Some(("M-10 0a10 10 0 1 0 20 0a10 10 0 1 0-20 0z", true)),
            Self::Square => Some(("M-9-9H9V9H-9z", true)),
            Self::Triangle => Some(("M0-12L11 8H-11z", true)),
            Self::Diamond => Some(("M0-13L13 0L0 13L-13 0z", true)),
            Self::Ring => Some(("M-9 0a9 9 0 1 0 18 0a9 9 0 1 0-18 0z", false)),
            Self::Cross => Some(("M-8-8L8 8M-8 8L8-8", false)),
        }
    }
}

impl Axis {
    /// Creates an axis from 0 to slightly above the largest value.
    pub(super) fn from_zero(title: impl Display, values: impl IntoIterator<Item = f64>) -> Self {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let range = [0.0, if most > LEAST { most * ROOM } else { 1.0 }];
        Self { title: title.to_string(), range, names: Vec::new(), is_logarithmic: false }
    }

    /// Creates an axis from zero, or a logarithmic one if an outlier would compress all other values.
    pub(super) fn fitting(title: impl Display, values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let has_outlier = sorted.first().is_some_and(|&least| least > LEAST)
            && sorted.last() > sorted.get(sorted.len() / 2).map(|median| OUTLIER_RATIO * median).as_ref();
        if has_outlier {
            Self::logarithmic(&title.to_string(), sorted)
        } else {
            Self::from_zero(title, sorted)
        }
    }

    /// Creates an axis from slightly below the smallest value to slightly above the largest.
    pub(super) fn between(title: impl Display, values: &[f64]) -> Self {
        let mut axis = Self::from_zero(title, values.iter().copied());
        let least = values.iter().copied().filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
        axis.range[0] = if least.is_finite() && least > 0.0 { least / ROOM } else { 0.0 };
        axis
    }

    /// Creates an axis from 0, or from below zero if there is a negative value.
    pub(super) fn around(title: impl Display, values: &[f64]) -> Self {
        let least = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::min);
        let mut axis = Self::from_zero(title, values.iter().copied());
        axis.range[0] = least * ROOM;
        axis
    }

    /// Extends the axis for an error bar. An axis that begins at zero is not extended below it.
    fn widened(mut self, [low, high]: [f64; 2]) -> Self {
        if self.is_logarithmic {
            let ends = self.range.into_iter().chain([low, high].into_iter().filter(|&end| end > LEAST));
            return Self { title: self.title, ..Self::logarithmic("", ends) };
        }
        if self.range[0] < 0.0 {
            self.range[0] = self.range[0].min(low);
        }
        self.range[1] = self.range[1].max(high * 1.01);
        self
    }

    /// Clamps a value to the range of the axis.
    fn within(&self, value: f64) -> f64 {
        value.clamp(self.range[0], self.range[1])
    }

    /// Creates an axis of names at equal distances.
    pub(super) fn of_names(title: &str, names: Vec<String>) -> Self {
        let range = [-0.5, names.len() as f64 - 0.5];
        Self { title: title.to_owned(), range, names, is_logarithmic: false }
    }

    /// Creates a logarithmic axis, from 1, 2 or 5 times a power of ten at or below the smallest positive value to the
    /// same at or above the largest.
    pub(super) fn logarithmic(title: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let logs = values.into_iter().filter(|&value| value > LEAST).map(f64::log10);
        let ends = |ends: Option<[f64; 2]>, log: f64| {
            let [low, high] = ends.unwrap_or([log, log]);
            Some([low.min(log), high.max(log)])
        };
        let [low, high] = logs.fold(None, ends).unwrap_or([0.0, 1.0]);
        // An end that is already such a number is kept.
        let low = steps(low - 1.0, high).rev().find(|step| step.log10() <= low + LEAST).unwrap_or(LEAST);
        let high = steps(low.log10(), high + 1.0).find(|step| *step > low && step.log10() >= high - LEAST);
        let range = [low, high.unwrap_or(10.0 * low)];
        Self { title: title.to_owned(), range, names: Vec::new(), is_logarithmic: true }
    }

    /// Returns the label of `value` in a table: the nearest name, or the number.
    pub(super) fn name_of(&self, value: f64) -> String {
        match self.names.get(value.round() as usize) {
            Some(name) => name.clone(),
            None => short(value),
        }
    }

    /// Maps `value` to a position between two edges.
    fn place(&self, value: f64, edges: [f64; 2]) -> f64 {
        let scale = |value: f64| {
            if self.is_logarithmic { value.max(self.range[0]).log10() } else { value }
        };
        let [low, high] = self.range.map(scale);
        edges[0] + (scale(value) - low) / (high - low) * (edges[1] - edges[0])
    }

    /// Returns the positions and labels of the ticks: round numbers, or the names.
    fn ticks(&self) -> Vec<(f64, String)> {
        if !self.names.is_empty() {
            return self.names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect();
        }
        let [low, high] = self.range;
        if self.is_logarithmic {
            let all: Vec<f64> = steps(low.log10(), high.log10())
                .filter(|step| (low / ROOM..=high * ROOM).contains(step))
                .collect();
            // Over several powers of ten only these have labels.
            let is_power = |step: f64| (step.log10() - step.log10().round()).abs() < LEAST;
            let is_long = all.iter().filter(|&&step| is_power(step)).count() > 2;
            return all
                .into_iter()
                .filter(|&step| !is_long || is_power(step))
                .map(|step| (step, short(step)))
                .collect();
        }
        // The step is 1, 2 or 5 times a power of ten that gives 3 to 7 ticks.
        let power = 10f64.powf(((high - low) / 3.0).log10().floor());
        let fits = [5.0, 2.0, 1.0].into_iter().find(|factor| (high - low) / (factor * power) >= 3.0);
        let step = fits.unwrap_or(1.0) * power;
        let decimals = -step.log10().floor().min(0.0) as usize;
        let numbers = (low / step).ceil() as i64..=(high / step).floor() as i64;
        numbers.map(|n| n as f64 * step).map(|number| (number, format!("{number:.decimals$}"))).collect()
    }
}

/// Returns 1, 2 and 5 times the powers of ten, from the one below the logarithm `from` to the one above `to`.
fn steps(from: f64, to: f64) -> impl DoubleEndedIterator<Item = f64> {
    let powers = from.floor() as i32..=to.ceil() as i32;
    powers.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)))
}

/// Returns the text size at which a title fits into this length.
fn letters(title: &str, length: f64) -> f64 {
    (length / (title.chars().count().max(1) as f64 * LETTER_WIDTH)).min(LETTERS).floor()
}

/// Formats the tooltip of a point: its line, and its value with the interval.
fn value_of(plot: &Plot, line: &Line, point: &Point) -> String {
    let place = plot.x.name_of(point.at.0);
    let interval =
        point.interval.map(|[low, high]| format!(" [{}, {}]", short(low), short(high))).unwrap_or_default();
    let name = if line.name.is_empty() { String::new() } else { format!("{}; ", line.name) };
    format!("{name}{}: {place}; {}: {}{interval}", plot.x.title, plot.y.title, short(point.at.1))
}

/// Renders the panel as an `svg` element; `title` describes it to screen readers.
pub(super) fn draw(plot: &Plot, title: &str) -> Markup {
    html! { svg viewBox=(view_box()) role="img" aria-label=(title) { (content(plot)) } }
}

/// Returns the view box of a panel.
pub(super) fn view_box() -> String {
    let [width, height] = SIZE;
    format!("0 0 {width} {height}")
}

/// Renders the content of the panel.
pub(super) fn content(plot: &Plot) -> Markup {
    let whiskers = plot.lines.iter().flat_map(|line| &line.points).filter_map(|point| point.interval);
    let y_axis = whiskers.fold(plot.y.clone(), Axis::widened);
    let [left, right, top, bottom] = AREA;
    let x = |value| format!("{:.1}", plot.x.place(value, [left, right]));
    let y = |value| format!("{:.1}", y_axis.place(value, [bottom, top]));
    let (middle_x, middle_y, [_, height]) = ((left + right) / 2.0, (top + bottom) / 2.0, SIZE);
    html! {
        g fill="none" stroke="var(--ink-7)" stroke-width="2" {
            @for (value, _) in plot.x.ticks() { path d={ "M" (x(value)) " " (top) "V" (bottom) } {} }
            @for (value, _) in y_axis.ticks() { path d={ "M" (left) " " (y(value)) "H" (right) } {} }
            path stroke="var(--ink-6)" d={ "M" (left) " " (top) "V" (bottom) "H" (right) } {}
        }
        g fill="var(--ink-6)" font-size="30" text-anchor="middle" {
            @for (value, text) in plot.x.ticks() {
                @if plot.x.names.is_empty() {
                    text x=(x(value)) y=(bottom + 34.0) { (text) }
                } @else {
                    // Names fit side by side in smaller text, on two lines.
                    @let size = if plot.x.names.len() > 5 { 18 } else { 21 };
                    @for (line, part) in text.split(['-', ' ']).enumerate() {
                        text x=(x(value)) y=(bottom + 28.0 + 20.0 * line as f64) font-size=(size) { (part) }
                    }
                }
            }
            @let is_named = !plot.x.names.is_empty();
            @let size = letters(&plot.x.title, right - left).min(if is_named { 25.0 } else { LETTERS });
            text x=(middle_x) y=(height - if is_named { 6.0 } else { 14.0 }) font-size=(size) { (plot.x.title) }
            text transform={ "translate(30 " (middle_y) ")rotate(270)" } font-size=(letters(&y_axis.title, bottom - top)) {
                (y_axis.title)
            }
        }
        g fill="var(--ink-6)" font-size="30" text-anchor="end" dominant-baseline="central" {
            @for (value, text) in y_axis.ticks() { text x=(left - 10.0) y=(y(value)) { (text) } }
        }
        @for line in &plot.lines {
            @let ink = line.pen.ink();
            g fill="none" stroke=(ink) stroke-width="4" {
                @if line.is_joined {
                    path stroke-dasharray=[line.pen.dashes()] d={
                        @for (at, Point { at: (px, py), .. }) in line.points.iter().enumerate() {
                            (if at == 0 { "M" } else { "L" }) (x(*px)) " " (y(*py))
                        }
                    } {}
                }
                @for Point { at: (px, _), interval, .. } in &line.points {
                    @if let Some([low, high]) = interval {
                        path stroke-width="2" d={ "M" (x(*px)) " " (y(y_axis.within(*low))) "V" (y(y_axis.within(*high))) } {}
                    }
                }
                @for point in &line.points {
                    @let place = format!("translate({} {})", x(point.at.0), y(point.at.1));
                    (marker(line.pen, place, Some(&value_of(plot, line, point))))
                }
            }
        }
        (names(plot, |point| {
            [plot.x.place(point.at.0, [left, right]), y_axis.place(point.at.1, [bottom, top])]
        }))
    }
}

/// Renders the names of points, above all lines and markers.
fn names(plot: &Plot, place: impl Fn(&Point) -> [f64; 2]) -> Markup {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let markers: Vec<[f64; 2]> = points().map(&place).collect();
    html! {
        g fill="var(--ink-6)" font-size=(NAME_LETTERS) {
            @for point in points().filter(|point| !point.name.is_empty()) {
                @let at = place(point);
                @let [dx, dy, width] = name_beside(at, &point.name, &markers);
                text x=(format!("{:.1}", at[0])) y=(format!("{:.1}", at[1])) dx=(dx) dy=(dy)
                    text-anchor=[(width < 0.0).then_some("end")] { (point.name) }
            }
        }
    }
}

/// Returns the offset of a name from its point, and its width, negative if the text ends at the point. The name is
/// above the point, beside its error bar and a descending line, or else clear of the other markers.
fn name_beside(at: [f64; 2], name: &str, markers: &[[f64; 2]]) -> [f64; 3] {
    let width = NAME_LETTERS * LETTER_WIDTH * name.chars().count() as f64;
    let (above, below) = (-15.0, 15.0 + NAME_LETTERS * CAPITAL_HEIGHT);
    let places = [[5.0, above, width], [5.0, below, width], [-5.0, below, -width], [-5.0, above, -width]];
    let is_clear = |&[dx, dy, width]: &[f64; 3]| {
        let [from, to] = [at[0] + dx, at[0] + dx + width];
        let (left, right) = (from.min(to) - MARKER, from.max(to) + MARKER);
        let (top, bottom) = (at[1] + dy - NAME_LETTERS * CAPITAL_HEIGHT - MARKER, at[1] + dy + MARKER);
        let covers = |[x, y]: [f64; 2]| (left..right).contains(&x) && (top..bottom).contains(&y);
        !markers.iter().any(|&marker| marker != at && covers(marker))
    };
    places.into_iter().find(is_clear).unwrap_or(places[0])
}

fn marker(pen: Pen, transform: String, says: Option<&str>) -> Markup {
    html! {
        @if let Some((outline, is_filled)) = pen.marker.outline() {
            path transform=(transform) d=(outline) fill=[is_filled.then(|| pen.ink())] {
                @if let Some(says) = says { title { (says) } }
            }
        }
    }
}

/// Renders a short line with its marker, for a legend.
pub(super) fn sample(pen: Pen) -> Markup {
    html! {
        svg.sample viewBox="0 0 88 40" aria-hidden="true" fill="none" stroke=(pen.ink()) stroke-width="4" { (line(pen)) }
    }
}

/// Renders such a line at a position in an SVG.
pub(super) fn sample_at(pen: Pen, x: u32, y: u32) -> Markup {
    html! {
        svg x=(x) y=(y) width="44" height="20" viewBox="0 0 88 40" fill="none" stroke=(pen.ink()) stroke-width="4" {
            (line(pen))
        }
    }
}

fn line(pen: Pen) -> Markup {
    html! {
        path d="M0 20H88" stroke-dasharray=[pen.dashes()] {}
        (marker(pen, "translate(44 20)".into(), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_maps_equal_ratios_to_equal_distances() {
        let axis = Axis::logarithmic("kbit/s", [10.0, 300.0, 7_000.0]);
        assert_eq!(axis.range, [10.0, 10_000.0]);
        let at = |value| axis.place(value, [0.0, 3.0]);
        assert!(
            [10.0, 100.0, 1_000.0, 10_000.0]
                .into_iter()
                .zip(0..)
                .all(|(value, place)| { (at(value) - f64::from(place)).abs() < 1e-9 })
        );
        assert!((at(300.0) - at(30.0) - 1.0).abs() < 1e-9);
        // Zero and negative values are at the lower end.
        assert_eq!((at(0.0), at(-5.0)), (0.0, 0.0));
        let narrow = Axis::logarithmic("ms", [62.0, 71.0]);
        assert_eq!(narrow.range, [50.0, 100.0]);
        let labels: Vec<String> = axis.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["10", "100", "1000", "10000"]);
    }

    #[test]
    fn a_name_is_clear_of_other_markers() {
        let at = [100.0, 100.0];
        let beside = |others: &[[f64; 2]]| name_beside(at, "30", &[&[at], others].concat());
        let (upper_right, lower_right) = ([125.0, 85.0], [125.0, 120.0]);
        assert_eq!(beside(&[[300.0, 90.0]])[..2], [5.0, -15.0]);
        assert!(beside(&[upper_right])[1] > 0.0, "below the point");
        assert!(beside(&[upper_right, lower_right])[2] < 0.0, "left of it");
    }

    #[test]
    fn an_outlier_makes_the_axis_logarithmic() {
        assert!(Axis::fitting("ms", &[40.0, 41.0, 45.0, 60.0, 1_345.0]).is_logarithmic);
        assert!(!Axis::fitting("ms", &[40.0, 41.0, 45.0, 60.0, 187.0]).is_logarithmic);
        assert!(!Axis::fitting("ms", &[0.0, 41.0, 45.0, 60.0, 1_345.0]).is_logarithmic, "0 has no logarithm");
        let wide = Axis::from_zero("ms", [10.0]).widened([-300.0, 40.0]);
        assert_eq!((wide.range[0], wide.within(-300.0)), (0.0, 0.0));
        assert!(wide.range[1] > 40.0);
    }
}
