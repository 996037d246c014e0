//! The page of a report in a real browser.

use std::fs;
use std::process::Command;

use crate::reporting::formats::planted_html;

/// Widths of a phone and of a desktop, in CSS pixels.
const WIDTHS: [u32; 2] = [390, 1280];

#[test]
fn the_page_fits_phone_and_desktop_without_complaint() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("report.html"), planted_html()).unwrap();
    let frames: String = WIDTHS
        .iter()
        .map(|width| format!("<iframe src='report.html' width={width} height=900 frameborder=0></iframe>"))
        .collect();
    let script = "onload = () => document.title = [...document.querySelectorAll('iframe')].map(
        frame => frame.contentDocument.documentElement.scrollWidth).join()";
    let page = folder.path().join("page.html");
    fs::write(&page, format!("{frames}<script>{script}</script>")).unwrap();

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
    let widths = WIDTHS.map(|width| width.to_string()).join(",");
    assert!(
        shown.contains(&format!("<title>{widths}</title>")),
        "wider than it may be: {shown:.400}"
    );
    let complaints: Vec<_> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
