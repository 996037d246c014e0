//! The page of a report in a real browser.

use std::fs;
use std::process::Command;

use crate::reporting::formats::planted_html;

/// Widths of a phone and of a desktop, in CSS pixels.
const WIDTHS: [u32; 2] = [390, 1280];

/// What is asked of the page in each frame: its width, its background, whether every link and whatever scrolls can be
/// reached with the keyboard.
const QUESTIONS: &str = "onload = () => {
    const frames = [...document.querySelectorAll('iframe')];
    const missed = frames.flatMap(frame => {
        const page = frame.contentDocument;
        // As a reader opens them: what is folded away is out of reach by intent.
        page.querySelectorAll('details').forEach(details => details.open = true);
        const scrolls = element => ['auto', 'scroll'].includes(frame.contentWindow.getComputedStyle(element).overflowX)
            && element.scrollWidth > element.clientWidth;
        const wanted = [...page.querySelectorAll('body *')].filter(
            element => element.matches('a[href], summary, button') || scrolls(element));
        return wanted.filter(element => { element.focus(); return page.activeElement !== element; });
    });
    const widths = frames.map(frame => frame.contentDocument.documentElement.scrollWidth).join();
    const [first] = frames;
    const colour = first.contentWindow.getComputedStyle(first.contentDocument.body).backgroundColor;
    document.title = [widths, missed.length, colour].join(' | ');
}";

/// The answers to [`QUESTIONS`], with `arguments` for the browser.
fn asked(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("report.html"), planted_html()).unwrap();
    let frames: String = WIDTHS
        .iter()
        .map(|width| format!("<iframe src='report.html' width={width} height=900 frameborder=0></iframe>"))
        .collect();
    let page = folder.path().join("page.html");
    fs::write(&page, format!("{frames}<script>{QUESTIONS}</script>")).unwrap();

    let output = Command::new("timeout")
        .args([
            "60",
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--dump-dom",
        ])
        .args(["--allow-file-access-from-files", "--enable-logging=stderr"])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        // Whatever the page would ask of others fails, and is complained about.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
        ])
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("coreutils are there");
    let (shown, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "chromium (Debian's package) failed: {said}"
    );
    let complaints: Vec<_> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let title = shown
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    title.expect("the script has run").0.to_owned()
}

#[test]
fn the_page_fits_phone_and_desktop_and_obeys_keyboard_and_colour_scheme() {
    let widths = WIDTHS.map(|width| width.to_string()).join(",");
    let light = asked(&[]);
    let colour = light.strip_prefix(&format!("{widths} | 0 | "));
    let colour = colour.unwrap_or_else(|| panic!("too wide, or out of reach of the keyboard: {light}"));
    let dark = asked(&["--force-dark-mode"]);
    assert!(dark.starts_with(&format!("{widths} | 0 | ")), "{dark}");
    assert!(!dark.ends_with(colour), "not dark: {dark}");
}
