//! The HTML report in a real browser (Chromium).

use std::fs;
use std::process::Command;

use crate::reporting::formats::planted_html;

/// Phone and desktop widths, in CSS pixels.
const WIDTHS: [u32; 2] = [390, 1280];

/// Script that writes its measurements into the title: the width of the page in each frame, the number of links and
/// scrollable elements that cannot receive keyboard focus, and the background color.
const MEASURE: &str = "onload = () => {
    const frames = [...document.querySelectorAll('iframe')];
    const unreachable = frames.flatMap(frame => {
        const page = frame.contentDocument;
        // By design, elements in a closed <details> cannot receive focus.
        page.querySelectorAll('details').forEach(details => details.open = true);
        const scrolls = element => ['auto', 'scroll'].includes(frame.contentWindow.getComputedStyle(element).overflowX)
            && element.scrollWidth > element.clientWidth;
        const focusable = [...page.querySelectorAll('body *')].filter(
            element => element.matches('a[href], summary, button') || scrolls(element));
        return focusable.filter(element => { element.focus(); return page.activeElement !== element; });
    });
    const widths = frames.map(frame => frame.contentDocument.documentElement.scrollWidth).join();
    const [first] = frames;
    const color = first.contentWindow.getComputedStyle(first.contentDocument.body).backgroundColor;
    document.title = [widths, unreachable.length, color].join(' | ');
}";

/// Returns the result of [`MEASURE`] in a browser that is started with `arguments`.
fn measure_page(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("report.html"), planted_html()).unwrap();
    let frames: String = WIDTHS
        .iter()
        .map(|width| format!("<iframe src='report.html' width={width} height=900 frameborder=0></iframe>"))
        .collect();
    let page = directory.path().join("page.html");
    fs::write(&page, format!("{frames}<script>{MEASURE}</script>")).unwrap();

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
            directory.path().join("profile").display()
        ))
        // External requests from the page fail and are logged to the console.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
        ])
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("timeout from coreutils is installed");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "chromium (Debian's package) failed: {stderr}"
    );
    let messages: Vec<_> = stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(messages.is_empty(), "{messages:#?}");
    let title = stdout
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    title.expect("the script did not run").0.to_owned()
}

#[test]
fn page_fits_phone_and_desktop_and_supports_keyboard_and_dark_mode() {
    let widths = WIDTHS.map(|width| width.to_string()).join(",");
    let light = measure_page(&[]);
    let color = light.strip_prefix(&format!("{widths} | 0 | "));
    let color = color.unwrap_or_else(|| panic!("too wide, or elements are unreachable by keyboard: {light}"));
    let dark = measure_page(&["--force-dark-mode"]);
    assert!(dark.starts_with(&format!("{widths} | 0 | ")), "{dark}");
    assert!(!dark.ends_with(color), "not dark: {dark}");
}
