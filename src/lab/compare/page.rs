//! The study as one page that needs nothing beside it: no script, no font, no picture from elsewhere.

mod figures;
mod plot;
mod tables;

use core::fmt::Write as _;

use super::agreement::Agreement;
use super::analysis::Analysis;
use super::findings::BreakEven;
use super::row::View;
use super::study_file::Study;
use super::summary::Span;
use super::summary::summarize;
use super::validity::{CheckResult, Validity};
use super::wording;
use figures::Figure;

const STYLE: &str = include_str!("page/page.css");

/// The page of a study. The same rows and environment give the same page, to the byte.
#[must_use]
pub fn page(study: &Study) -> String {
    let cells = summarize(&study.rows);
    let analysis = Analysis::of(&cells);
    let mut page = String::new();
    page += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    let _ = writeln!(
        page,
        "<title>P2P lockstep against client-server</title>\n<style>\n{STYLE}</style>\n</head>"
    );
    page += "<body>\n<main>\n";
    page += &head(study, &analysis);
    page += &findings(&analysis);
    page += &tables::better(&analysis);
    let figures = figures::figures(&analysis);
    for one in &figures {
        page += &figure(one);
        if one.id == "break-even" {
            page += &break_evens(&analysis);
            page += "</section>\n";
        }
    }
    page += &every_finding(&analysis);
    page += &tables::cells(&analysis);
    page += &tables::comparisons(&analysis);
    page += &method(&analysis);
    page += &validity(&analysis.validity);
    page += &agreement(analysis.agreement.as_ref());
    page += "</main>\n</body>\n</html>\n";
    page
}

/// Text as it may stand anywhere in the page.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

fn head(study: &Study, analysis: &Analysis<'_>) -> String {
    let mut html = String::from("<header>\n<h1>P2P lockstep against client-server</h1>\n");
    html += "<p class=\"lead\">The same orders, on the same links, under every architecture of one game: what \
             each shows how late, and what it sends for it.</p>\n";
    if analysis.is_valid() {
        let asked: usize = analysis.validity.checks.iter().map(|check| check.asked).sum();
        let _ = writeln!(html, "<p class=\"verdict\">Valid: all {asked} checks hold.</p>");
    } else {
        html += "<p class=\"verdict broken\"><strong>Not valid:</strong> a check fails, so that no figure here \
                 may be cited. <a href=\"#validity\">Which</a>.</p>\n";
    }
    if let Some(agreement) = &analysis.agreement {
        let _ = writeln!(html, "<p class=\"verdict\">{}</p>", escaped(&agreement.sentence()));
    }
    html += "</header>\n<section id=\"answer\">\n<h2>In three sentences</h2>\n";
    html += &sentences(analysis.answer().into_iter());
    html += "</section>\n<section id=\"run\">\n<h2>What was run</h2>\n<dl>\n";
    let seeds = analysis.seeds();
    // Bots play to the end, however long that is.
    let scripted = study.rows.iter().filter(|row| row.view != View::Bots);
    let seconds = scripted.map(|row| row.seconds).fold(0.0, f64::max);
    let facts = [
        ("matches", format!("{} in {} cells", study.rows.len(), analysis.cells.len())),
        ("seeds", seed_range(&seeds)),
        ("usual", wording::USUAL.to_owned()),
        ("each counts", format!("{} s, after 5 s at the start", wording::short(seconds))),
    ];
    let given = study.environment.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in facts.into_iter().chain(given) {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(&value));
    }
    html += "</dl>\n</section>\n";
    html
}

/// `1000 to 1007 (8)`, or each.
pub(super) fn seed_range(seeds: &[u64]) -> String {
    match seeds {
        [] => "none".into(),
        [first, .., last] if last - first == seeds.len() as u64 - 1 => {
            format!("{first} to {last} ({})", seeds.len())
        }
        seeds => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn sentences(all: impl Iterator<Item = String>) -> String {
    let mut items = all.map(|sentence| format!("<li>{}</li>\n", escaped(&sentence))).peekable();
    if items.peek().is_none() {
        return "<p>There is nothing to say.</p>\n".into();
    }
    format!("<ul class=\"sentences\">\n{}</ul>\n", items.collect::<String>())
}

/// What each pair of settings shows over all links.
fn findings(analysis: &Analysis<'_>) -> String {
    let mut html = String::from("<section id=\"findings\">\n<h2>Findings</h2>\n");
    let _ = writeln!(
        html,
        "<p>{}. Here they are by pairs of settings, from the least difference to the most; <a \
         href=\"#every-finding\">each by itself</a> is below.</p>",
        escaped(&analysis.count())
    );
    let unplayable = analysis.unplayable();
    if !unplayable.is_empty() {
        html += &sentences(unplayable.into_iter());
    }
    let digests = analysis.digests();
    for view in analysis.views() {
        let _ = writeln!(html, "<h3>{}</h3>\n<div class=\"pairs\">", escaped(wording::question(view)));
        let (shown, open): (Vec<_>, Vec<_>) = digests
            .iter()
            .filter(|digest| digest.view() == view)
            .partition(|digest| !digest.sentences().is_empty());
        for digest in shown {
            let all = sentences(digest.sentences().into_iter());
            let none = digest.open();
            let none = if none.is_empty() {
                String::new()
            } else {
                format!("no difference shown: {}", none.join(", "))
            };
            let (pair, none) = (escaped(&digest.pair), escaped(&none));
            let _ = writeln!(html, "<div>\n<h4>{pair}</h4>\n{all}<p class=\"open\">{none}</p>\n</div>");
        }
        html += "</div>\n";
        if !open.is_empty() {
            let pairs: Vec<&str> = open.iter().map(|digest| digest.pair.as_str()).collect();
            let _ = writeln!(
                html,
                "<p class=\"open\">No difference shown in anything: {}.</p>",
                escaped(&pairs.join("; "))
            );
        }
    }
    html += "</section>\n";
    html
}

fn every_finding(analysis: &Analysis<'_>) -> String {
    let mut html = String::from("<section id=\"every-finding\">\n<h2>Every finding</h2>\n");
    for view in analysis.views() {
        let mut found = analysis.findings().filter(|one| one.base.cell.view == view).peekable();
        let _ = writeln!(html, "<h3>{}</h3>", escaped(wording::question(view)));
        if found.peek().is_none() {
            html += "<p>No difference shown.</p>\n";
        } else {
            html += &sentences(found.map(super::comparison::Comparison::sentence));
        }
    }
    html += "</section>\n";
    html
}

fn figure(figure: &Figure) -> String {
    let mut html = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n",
        figure.id,
        escaped(figure.title),
        escaped(&figure.text)
    );
    html += "<ul class=\"legend\">\n";
    for (pen, name) in &figure.legend {
        let _ = writeln!(html, "<li>{}{}</li>", plot::sample(*pen), escaped(name));
    }
    html += "</ul>\n<div class=\"panels\">\n";
    for (title, panel) in &figure.panels {
        let picture = plot::draw(panel, &format!("{}: {title}", figure.title));
        let _ = writeln!(html, "<figure>\n<figcaption>{}</figcaption>\n{picture}\n</figure>", escaped(title));
    }
    html += "</div>\n";
    if figure.id != "break-even" {
        html += "</section>\n";
    }
    html
}

/// Sentences of the settings in which some place would do, and how many others there are.
fn break_evens(analysis: &Analysis<'_>) -> String {
    let (hopeless, some): (Vec<_>, Vec<_>) =
        analysis.break_evens.iter().partition(|found| found.is_hopeless());
    let mut html = String::new();
    if !hopeless.is_empty() {
        let (count, all) = (hopeless.len(), analysis.break_evens.len());
        let _ = writeln!(
            html,
            "<p>In {count} of {all} settings no place of the server makes client-server as quick as p2p. In the \
             others:</p>"
        );
    }
    html + &sentences(some.into_iter().map(BreakEven::sentence))
}

fn method(analysis: &Analysis<'_>) -> String {
    let mut html = String::from("<section id=\"method\">\n<h2>Method</h2>\n");
    html += include_str!("page/method.html");
    html += "<h3>The views</h3>\n<ul>\n";
    for view in analysis.views() {
        let says = match view {
            View::Defaults => {
                "each architecture as it comes: prediction on, 20 updates a second, unless a row says otherwise"
            }
            View::EqualRate => "a server sends an update for each tick, as often as peers send inputs",
            View::Bytes => "a server's updates from few to many, against the bytes that it costs",
            View::HostLost => "who hosts, or the server, disappears half-way",
            View::Bots => {
                "bots that see the world play it to its end: for corrections and distances in fights"
            }
        };
        let _ = writeln!(html, "<li><strong>{}</strong>: {says}.</li>", escaped(wording::question(view)));
    }
    html += "</ul>\n<p>Figures of different views are never compared.</p>\n</section>\n";
    html
}

fn validity(validity: &Validity) -> String {
    let mut html = String::from("<section id=\"validity\">\n<h2>Validity</h2>\n");
    html += "<p>The study is valid if every one of these holds in every match.</p>\n";
    let rows = validity.checks.iter().map(|check| {
        let CheckResult { name, demand, asked, failed, .. } = check;
        let result = match (asked, failed) {
            (0, _) => "not asked".to_owned(),
            (_, 0) => "holds".to_owned(),
            (_, failed) => format!("fails {failed} times"),
        };
        vec![(*name).to_owned(), (*demand).to_owned(), asked.to_string(), result]
    });
    html += &tables::table(&["check", "what must hold", "asked", "result"], 2..3, rows);
    for check in validity.checks.iter().filter(|check| check.failed > 0) {
        let _ = writeln!(html, "<h3>Failures of {}</h3>", escaped(check.name));
        html += &sentences(check.failures.iter().cloned());
    }
    html += "</section>\n";
    html
}

/// Virtual and real medians side by side, cell by cell.
fn agreement(agreement: Option<&Agreement>) -> String {
    let Some(agreement) = agreement else { return String::new() };
    let mut html = String::from("<section id=\"real\">\n<h2>Between real processes</h2>\n");
    let _ = writeln!(html, "<p>{}</p>", escaped(&agreement.sentence()));
    html += "<p>Medians in milliseconds, virtual and real, means over the matches. Real matches run on one machine \
             over the loopback interface, with the same links made in the processes. CPU is that of a \
             process, memory the most that the server has held, or a player without one.</p>\n";
    let spans = [Span::OwnPredicted, Span::Own, Span::OpponentConfirmed, Span::Opponent];
    let rows = agreement.cells.iter().map(|found| {
        let median = |span: Span| {
            let found = found.medians.iter().find(|(it, ..)| *it == span);
            found.map_or_else(|| "–".into(), |(_, simulated, real)| format!("{simulated:.1}, {real:.1}"))
        };
        let link = format!("{:.0} ms, {:.0} %", found.cell.rtt_ms, 100.0 * found.cell.loss);
        let verdict = if found.agrees() { "yes" } else { "no" };
        let mut row = vec![found.cell.architecture.as_str().to_owned(), link];
        row.extend(spans.map(median));
        row.push(found.cpu_us_per_tick.map_or_else(|| "–".into(), |us| format!("{us:.0}")));
        row.push(found.memory_bytes.map_or_else(|| "–".into(), |bytes| format!("{:.1}", bytes as f64 / 1e6)));
        row.push(verdict.to_owned());
        row
    });
    let names = [
        "architecture",
        "RTT, loss",
        "own shown",
        "own confirmed",
        "opponent confirmed",
        "opponent seen",
        "CPU, µs per tick",
        "memory, MB",
        "agree",
    ];
    html += &tables::table(&names, 2..8, rows);
    html += "</section>\n";
    html
}
