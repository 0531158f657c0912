//! One panel: axes, lines and points as an SVG without a colour of its own. Every ink is a variable of the page's
//! style sheet, so that the same picture is read by day, by night and on paper.

use core::fmt::Display;

use plotters::coord::ranged1d::{KeyPointHint, Ranged, ValueFormatter};
use plotters::prelude::*;

/// Size of a panel in units of its own; shown at half of it to three quarters.
const SIZE: (u32, u32) = (760, 560);
const FONT: &str = "sans-serif";
const TICK_FONT: i32 = 30;
const TITLE_FONT: i32 = 31;
const STROKE: u32 = 4;
/// An axis that ends below this has nothing to show.
const LEAST: f64 = 1e-6;

/// A panel.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    /// The horizontal axis.
    pub(super) x: Axis,
    /// The vertical one.
    pub(super) y: Axis,
    /// What is drawn, in this order.
    pub(super) lines: Vec<Line>,
}

/// An axis with its title and unit.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// What it shows, in which unit.
    pub(super) title: String,
    /// Its ends.
    pub(super) range: [f64; 2],
    /// Where names stand instead of numbers: each at its index.
    pub(super) names: Vec<&'static str>,
}

/// Points, and what joins them.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// From left to right, or in the order in which they are joined.
    pub(super) points: Vec<Point>,
    /// Its looks.
    pub(super) pen: Pen,
    /// Whether the points are joined.
    pub(super) is_joined: bool,
}

/// One point.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    /// Horizontally and vertically.
    pub(super) at: (f64, f64),
    /// Ends of a whisker.
    pub(super) interval: Option<[f64; 2]>,
    /// What stands beside it.
    pub(super) name: String,
}

/// Colour, shape and dash: each tells lines apart without the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    /// Which of the page's inks, 0 to [`INKS`] - 1.
    pub(super) ink: u8,
    /// What stands at each point.
    pub(super) marker: Marker,
    /// How the line is drawn.
    pub(super) dash: Dash,
}

/// What stands at a point.
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

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

/// Inks of the page: six of lines, then text, grid.
pub(super) const INKS: u8 = 8;
const TEXT: Pen = Pen::plain(6);
const GRID: Pen = Pen::plain(7);

impl Pen {
    const fn plain(ink: u8) -> Self {
        Self { ink, marker: Marker::None, dash: Dash::Solid }
    }

    /// The colour that stands for ink and dash until the picture is done.
    const fn placeholder(self) -> RGBColor {
        RGBColor(0xa0 + self.ink, 0x10 + self.dash as u8, 0x01)
    }

    fn style(self) -> ShapeStyle {
        self.placeholder().stroke_width(STROKE)
    }
}

impl Axis {
    /// From 0 to a little more than the largest value.
    pub(super) fn from_zero(title: impl Display, values: impl IntoIterator<Item = f64>) -> Self {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let range = [0.0, if most > LEAST { most * 1.08 } else { 1.0 }];
        Self { title: title.to_string(), range, names: Vec::new() }
    }

    /// The same, or from below zero if there is a value there.
    pub(super) fn around(title: impl Display, values: impl IntoIterator<Item = f64> + Clone) -> Self {
        let least = values.clone().into_iter().filter(|value| value.is_finite()).fold(0.0, f64::min);
        let mut axis = Self::from_zero(title, values);
        axis.range[0] = least * 1.08;
        axis
    }

    /// With room for a whisker.
    fn widened(mut self, [low, high]: [f64; 2]) -> Self {
        self.range = [self.range[0].min(low), self.range[1].max(high)];
        self
    }

    /// Names at equal distances.
    pub(super) fn of_names(title: &str, names: Vec<&'static str>) -> Self {
        Self { title: title.to_owned(), range: [-0.5, names.len() as f64 - 0.5], names }
    }
}

/// An axis as plotters wants it: round numbers, or the names.
struct Scale<'a>(&'a Axis);

impl Ranged for Scale<'_> {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let [low, high] = self.0.range;
        let share = (value - low) / (high - low);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        if !self.0.names.is_empty() {
            return (0..self.0.names.len()).map(|at| at as f64).collect();
        }
        let [low, high] = self.0.range;
        let step = step(high - low);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|n| n as f64 * step).collect()
    }

    fn range(&self) -> core::ops::Range<f64> {
        self.0.range[0]..self.0.range[1]
    }
}

impl ValueFormatter<f64> for Scale<'_> {
    fn format_ext(&self, value: &f64) -> String {
        match self.0.names.get(value.max(0.0) as usize) {
            Some(name) => (*name).to_owned(),
            None => {
                let [low, high] = self.0.range;
                let decimals = -step(high - low).log10().floor();
                format!("{value:.0$}", decimals.max(0.0) as usize)
            }
        }
    }
}

/// A round number of which 3 to 7 fit into `length`.
fn step(length: f64) -> f64 {
    let power = 10f64.powf((length / 3.0).log10().floor());
    let fits = [5.0, 2.0, 1.0].into_iter().find(|factor| length / (factor * power) >= 3.0);
    fits.unwrap_or(1.0) * power
}

/// The panel as an `svg` element; `title` says what it shows to who cannot see it.
pub(super) fn draw(plot: &Plot, title: &str) -> String {
    let mut svg = String::new();
    // Drawing into memory fails only where a range is empty, and none is.
    paint(plot, &mut svg).expect("into memory");
    themed(&svg, title)
}

fn paint<'a>(plot: &Plot, svg: &'a mut String) -> Result<(), Box<dyn core::error::Error + 'a>> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let whiskers = plot.lines.iter().flat_map(|line| &line.points).filter_map(|point| point.interval);
    let y = whiskers.fold(plot.y.clone(), Axis::widened);
    let mut chart = ChartBuilder::on(&root)
        .margin_top(16)
        .margin_right(34)
        .x_label_area_size(88)
        .y_label_area_size(116)
        .build_cartesian_2d(Scale(&plot.x), Scale(&y))?;
    let text = |size: i32| (FONT, size).into_font().color(&TEXT.placeholder());
    chart
        .configure_mesh()
        .x_desc(&plot.x.title)
        .y_desc(&plot.y.title)
        .axis_desc_style(text(TITLE_FONT))
        .label_style(text(TICK_FONT))
        .axis_style(TEXT.placeholder().stroke_width(2))
        .bold_line_style(GRID.placeholder().stroke_width(2))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for line in &plot.lines {
        let at = line.points.iter().map(|point| point.at);
        if line.is_joined {
            chart.draw_series([PathElement::new(at.clone().collect::<Vec<_>>(), line.pen.style())])?;
        }
        let whiskers = line.points.iter().filter_map(|point| Some((point.at.0, point.interval?)));
        let thin = line.pen.placeholder().stroke_width(2);
        chart.draw_series(
            whiskers.map(|(x, [low, high])| PathElement::new(vec![(x, low), (x, high)], thin)),
        )?;
        for at in at {
            let shape = EmptyElement::at(at);
            match line.pen.marker {
                Marker::None => {}
                Marker::Ring => {
                    chart.draw_series([shape + Circle::new((0, 0), 9, line.pen.style())])?;
                }
                Marker::Disc => {
                    let filled = line.pen.placeholder().filled();
                    chart.draw_series([shape + Circle::new((0, 0), 10, filled)])?;
                }
                Marker::Cross => {
                    chart
                        .draw_series([shape + plotters::element::Cross::new((0, 0), 8, line.pen.style())])?;
                }
                marker => {
                    let filled = line.pen.placeholder().filled();
                    chart.draw_series([shape + Polygon::new(outline(marker), filled)])?;
                }
            }
        }
        let names = line.points.iter().filter(|point| !point.name.is_empty());
        let beside = |point: &Point| {
            EmptyElement::at(point.at) + Text::new(point.name.clone(), (14, -34), text(TICK_FONT))
        };
        chart.draw_series(names.map(beside))?;
    }
    drop(chart);
    root.present()?;
    drop(root);
    Ok(())
}

/// Corners around the point.
fn outline(marker: Marker) -> Vec<(i32, i32)> {
    match marker {
        Marker::Square => vec![(-9, -9), (9, -9), (9, 9), (-9, 9)],
        Marker::Triangle => vec![(0, -12), (11, 8), (-11, 8)],
        _ => vec![(0, -13), (13, 0), (0, 13), (-13, 0)],
    }
}

/// The same picture in the page's inks, without a size of its own.
fn themed(svg: &str, title: &str) -> String {
    let start = svg.find('>').map_or(0, |end| end + 1);
    let (width, height) = SIZE;
    let title = super::escaped(title);
    let mut themed = format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">");
    themed += svg[start..].trim_end();
    for ink in 0..INKS {
        for (dash, strokes) in [
            (Dash::Solid, ""),
            (Dash::Dashed, " stroke-dasharray=\"16 10\""),
            (Dash::Dotted, " stroke-dasharray=\"3 10\" stroke-linecap=\"round\""),
        ] {
            let RGBColor(r, g, b) = Pen { ink, marker: Marker::None, dash }.placeholder();
            let from = format!("\"#{r:02X}{g:02X}{b:02X}\"");
            if themed.contains(&from) {
                let to = format!("\"var(--ink-{ink})\"");
                themed = themed.replace(&format!("stroke={from}"), &format!("stroke={to}{strokes}"));
                themed = themed.replace(&from, &to);
            }
        }
    }
    themed
}

/// A short line with its marker, for a legend.
pub(super) fn sample(pen: Pen) -> String {
    let (ink, fill) = (format!("var(--ink-{})", pen.ink), format!(" fill=\"var(--ink-{})\"", pen.ink));
    let dash = match pen.dash {
        Dash::Solid => "",
        Dash::Dashed => " stroke-dasharray=\"8 5\"",
        Dash::Dotted => " stroke-dasharray=\"1.5 5\" stroke-linecap=\"round\"",
    };
    let line = format!("<path d=\"M0 10H44\"{dash}/>");
    let marker = match pen.marker {
        Marker::None => String::new(),
        Marker::Disc => format!("<circle cx=\"22\" cy=\"10\" r=\"5\"{fill}/>"),
        Marker::Ring => "<circle cx=\"22\" cy=\"10\" r=\"4.5\"/>".to_owned(),
        Marker::Cross => "<path d=\"M18 6L26 14M18 14L26 6\"/>".to_owned(),
        marker => {
            let corners = outline(marker)
                .into_iter()
                .map(|(x, y)| (22.0 + f64::from(x) / 2.0, 10.0 + f64::from(y) / 2.0));
            let corners: Vec<String> = corners.map(|(x, y)| format!("{x},{y}")).collect();
            format!("<polygon points=\"{}\"{fill}/>", corners.join(" "))
        }
    };
    format!(
        "<svg class=\"sample\" viewBox=\"0 0 44 20\" aria-hidden=\"true\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"2\">{line}{marker}</svg>"
    )
}
