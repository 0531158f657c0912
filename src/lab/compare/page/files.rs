//! Export of the headline figures as standalone SVG files, and of the data of three as CSV.

use maud::{Markup, PreEscaped, html};

use super::STYLE;
use super::figures::{Figure, headline};
use super::plot::{self, Plot};
use crate::compare::analysis::Analysis;

/// Width and height of a panel, including its title.
const PANEL: [u32; 2] = [480, 384];
/// Number of panels side by side.
const COLUMNS: u32 = 2;
/// Maximum length of a legend's name that shares a line with another, in characters.
const LEGEND_LETTERS_MAX: usize = 48;
/// Height of a line of the legend, and of a title.
const LINE: u32 = 28;

/// Returns names and contents of `figure-1.svg` and so on, and of `figures.csv`: one line per point with figure, panel,
/// series, position on the horizontal axis, mean and the ends of its 95 % interval.
#[must_use]
pub fn figure_files(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let figures = headline(analysis);
    // The data of the outcome and scale figures are in tables of their own.
    let first = ["figure-1", "figure-2", "figure-3"];
    let measured = figures.iter().filter(|figure| first.contains(&figure.id));
    let mut lines: Vec<String> = measured.flat_map(numbers).collect();
    lines.sort_unstable();
    let table = format!("figure,panel,series,x,value,low,high\n{}\n", lines.join("\n"));
    let pictures = figures.iter().map(|figure| (format!("{}.svg", figure.id), picture(figure)));
    pictures.chain([("figures.csv".to_owned(), table)]).collect()
}

/// Formats one line per measured point; bounds are not measured.
fn numbers(figure: &Figure) -> impl Iterator<Item = String> {
    let of_panel = |(title, plot): &(String, Plot)| {
        let lines = plot.lines.iter().filter(|line| !line.name.is_empty() && !line.name.starts_with("bound"));
        let points = lines.flat_map(|line| line.points.iter().map(move |point| (line, point)));
        let line = points.map(|(line, point)| {
            let [low, high] =
                point.interval.map_or([String::new(), String::new()], |ends| ends.map(decimals));
            let (x, value) = (plot.x.name_of(point.at.0), decimals(point.at.1));
            format!("{},\"{title}\",\"{}\",{x},{value},{low},{high}", figure.id, line.name)
        });
        line.collect::<Vec<_>>()
    };
    figure.panels.iter().flat_map(of_panel)
}

fn decimals(value: f64) -> String {
    format!("{value:.2}")
}

/// Renders all panels of a figure under its legend, with colours for light and dark mode.
fn picture(figure: &Figure) -> String {
    let colours = STYLE.split("@media print").next().unwrap_or_default();
    let legend = figure.legend();
    let beside = legend_columns(legend.iter().map(|&(_, name)| name));
    let top = LINE * (legend.len() as u32).div_ceil(beside) + 8;
    let columns = COLUMNS.min(figure.panels.len() as u32);
    let rows = (figure.panels.len() as u32).div_ceil(COLUMNS);
    let (width, height) = (columns.max(2) * PANEL[0], top + rows * PANEL[1]);
    let place = |at: usize| [at as u32 % COLUMNS * PANEL[0], at as u32 / COLUMNS];
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } role="img"
            aria-label=(figure.title) font-family="system-ui, sans-serif" font-size="15" fill="var(--text)" {
            style { (PreEscaped(colours)) }
            rect width="100%" height="100%" fill="var(--paper)" {}
            @for (at, (pen, name)) in legend.into_iter().enumerate() {
                @let [x, row] = [at as u32 % beside * PANEL[0], at as u32 / beside];
                (plot::sample_at(pen, x + 12, row * LINE + 8))
                text x=(x + 64) y=(row * LINE + 23) { (name) }
            }
            @for (at, (title, panel)) in figure.panels.iter().enumerate() {
                @let [x, row] = place(at);
                (panel_at(panel, title, x, top + row * PANEL[1]))
            }
        }
    };
    picture.into_string() + "\n"
}

/// Returns the number of names in a line of a legend: long ones are listed one per line.
fn legend_columns<'a>(mut names: impl Iterator<Item = &'a str>) -> u32 {
    if names.any(|name| name.chars().count() > LEGEND_LETTERS_MAX) { 1 } else { COLUMNS }
}

fn panel_at(plot: &Plot, title: &str, x: u32, y: u32) -> Markup {
    html! {
        text x=(x + 12) y=(y + 20) font-weight="600" { (title) }
        svg x=(x) y=(y + LINE) width=(PANEL[0]) height=(PANEL[1] - LINE) viewBox=(plot::view_box()) {
            (plot::content(plot))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_of_a_legend_have_a_line_each() {
        let (short, long) = ("é".repeat(LEGEND_LETTERS_MAX), "é".repeat(LEGEND_LETTERS_MAX + 1));
        assert_eq!(legend_columns(["p2p", &short].into_iter()), COLUMNS);
        assert_eq!(legend_columns(["p2p", &long].into_iter()), 1);
    }
}
