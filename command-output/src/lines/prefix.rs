//! Prefixes that launchers and log collectors put before lines.

/// Maximum length of a prefix, in bytes.
const MAX_BYTES: usize = 256;
/// Kind of the prefixes that are times. They differ from line to line, so they do not identify a process.
pub const TIME: char = 't';

/// Prefix of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Kind of the prefix, for streams.
    pub kind: char,
    /// Name of the process; empty if the prefix contains none.
    pub tag: String,
    /// Length in bytes.
    pub length: usize,
}

/// Finds a prefix in a line, which could also be a part of the line. The second argument is whether a time precedes it.
type Find = fn(&str, bool) -> Option<Prefix>;

/// Prefixes that could be a part of a line: `0: ` of srun and `host: ` of pdsh, `[0] ` of Hydra, `name-1  | ` of docker
/// compose, and `host unit[1]: ` of journald or `group/stream ` of CloudWatch after a time.
pub const WEAK: [Find; 5] = [
    |text, _| rank(text),
    |text, _| compose(text),
    |text, _| label(text),
    |text, after_time| unit(text).filter(|_| after_time),
    |text, after_time| stream_name(text).filter(|_| after_time),
];

/// Finds a prefix that cannot be confused with the text of a tool.
pub fn strong(text: &str) -> Option<Prefix> {
    open_mpi(text).or_else(|| time(text)).or_else(|| pod(text))
}

/// Finds the prefix of Open MPI and PRRTE with `--tag-output`, `--timestamp-output` and `--output tag-detailed`: names in
/// brackets, and the stream in angle brackets (iof_base_output.c in Open MPI 4, pmix_iof.c in PMIx 4).
fn open_mpi(text: &str) -> Option<Prefix> {
    let start = text
        .char_indices()
        .take(MAX_BYTES)
        .find(|(_, character)| *character == '<')?
        .0;
    let after = &text[start..];
    let stream = ["<stdout>:", "<stderr>:", "<stddiag>:"]
        .into_iter()
        .find(|name| after.starts_with(name))?;
    let head = &text[..start];
    let names = &head[clock_length(head).unwrap_or(0)..];
    let is_name = |name: &str| {
        name.strip_suffix(']')
            .is_some_and(|name| !name.contains(['[', ']', ' ']))
    };
    let is_known = names.is_empty() && !head.is_empty()
        || names.strip_prefix('[').is_some_and(|names| {
            names.split_inclusive(']').enumerate().all(|(index, name)| {
                is_name(if index == 0 {
                    name
                } else {
                    name.strip_prefix('[').unwrap_or("")
                })
            })
        });
    let length = start + stream.len();
    let has_space = text[length..].starts_with(' ') && names.contains('@');
    is_known.then(|| Prefix {
        kind: 'm',
        tag: format!("{names}{}", stream.trim_end_matches(':')),
        length: length + usize::from(has_space),
    })
}

/// Finds a time: RFC 3339 with optional brackets, as of kubectl and most collectors, or the time of syslog. The name of
/// the stream that a container runtime prints after the time (`stdout F `) is part of it.
fn time(text: &str) -> Option<Prefix> {
    let bracket = usize::from(text.starts_with('['));
    let after = &text[bracket..];
    let length = rfc3339_length(after).or_else(|| clock_length(after))?;
    let mut length = bracket + length;
    if bracket == 1 {
        length += text[length..].strip_prefix(']').map(|_| 1)?;
    }
    let rest = &text[length..];
    let separator = match rest.chars().next() {
        None => 0,
        Some(' ' | '\t') => 1,
        Some(_) => return None,
    };
    length += separator;
    let mut tag = String::new();
    for stream in ["stdout", "stderr"] {
        let flags = [" F ", " P "].map(|flag| format!("{stream}{flag}"));
        let found = flags
            .iter()
            .find(|flag| text[length..].starts_with(flag.as_str()));
        if let Some(found) = found {
            length += found.len();
            stream.clone_into(&mut tag);
            break;
        }
    }
    Some(Prefix {
        kind: TIME,
        tag,
        length,
    })
}

/// Length of a time such as `2026-03-04T09:12:00.123Z`, `2026-03-04 09:12:00,123` or `2026-03-04T09:12:00+01:00`.
fn rfc3339_length(text: &str) -> Option<usize> {
    let date = shape_length(text, "dddd-dd-dd")?;
    let separator = text[date..].starts_with(['T', 't', ' ']).then_some(1)?;
    let time = shape_length(&text[date + separator..], "dd:dd:dd")?;
    let mut length = date + separator + time;
    length += fraction_length(&text[length..]);
    let offset = match text[length..].chars().next() {
        Some('Z' | 'z') => 1,
        Some('+' | '-') => shape_length(&text[length + 1..], "dd:dd")
            .or_else(|| shape_length(&text[length + 1..], "dddd"))
            .map_or(0, |digits| digits + 1),
        _ => 0,
    };
    Some(length + offset)
}

/// Length of a time such as `Sat Nov 28 21:10:24 2026` (ctime), `Nov 28 21:10:24` (syslog) or `21:10:24.123`.
fn clock_length(text: &str) -> Option<usize> {
    const MONTHS: [&str; 12] = [
        "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec ",
    ];
    const DAYS: [&str; 7] = ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "];
    let starts = |at: usize, names: &[&str]| {
        let rest = text.get(at..)?;
        names.iter().any(|name| rest.starts_with(name)).then_some(4)
    };
    let day = starts(0, &DAYS).unwrap_or(0);
    let Some(month) = starts(day, &MONTHS) else {
        let length = shape_length(text, "dd:dd:dd")?;
        return Some(length + fraction_length(&text[length..]));
    };
    let mut length = day + month;
    length += shape_length(&text[length..], "dd ").or_else(|| shape_length(&text[length..], " d "))?;
    length += shape_length(&text[length..], "dd:dd:dd")?;
    length += fraction_length(&text[length..]);
    if day > 0 {
        length += shape_length(&text[length..], " dddd").unwrap_or(0);
    }
    Some(length)
}

/// Length of the fraction of a second, such as `.123` or `,123`.
fn fraction_length(text: &str) -> usize {
    match text.strip_prefix(['.', ',']) {
        Some(rest) => match rest.bytes().take_while(u8::is_ascii_digit).count() {
            0 => 0,
            digits => digits + 1,
        },
        None => 0,
    }
}

/// Length of `shape` if `text` starts with it: `d` stands for a digit, and any other character for itself.
fn shape_length(text: &str, shape: &str) -> Option<usize> {
    let text = text.as_bytes();
    let matches = shape
        .bytes()
        .enumerate()
        .all(|(index, expected)| match text.get(index) {
            Some(byte) if expected == b'd' => byte.is_ascii_digit(),
            byte => byte == Some(&expected),
        });
    matches.then_some(shape.len())
}

/// Finds the prefix of `kubectl logs --prefix`: `[pod/name/container] `.
fn pod(text: &str) -> Option<Prefix> {
    let (name, rest) = text.strip_prefix("[pod/")?.split_once(']')?;
    let is_name = !name.is_empty() && name.len() <= MAX_BYTES && name.chars().all(is_name_character);
    let space = usize::from(rest.starts_with(' '));
    (is_name && (space == 1 || rest.is_empty())).then(|| Prefix {
        kind: 'p',
        tag: format!("pod/{name}"),
        length: text.len() - rest.len() + space,
    })
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._/".contains(character)
}

/// Finds `[0] `, which Hydra's `-l` prints before each line.
fn rank(text: &str) -> Option<Prefix> {
    let (rank, rest) = text.strip_prefix('[')?.split_once(']')?;
    let is_rank = (1..=7).contains(&rank.len()) && rank.bytes().all(|byte| byte.is_ascii_digit());
    ended(text, rest, is_rank, 'r', &format!("[{rank}]"))
}

/// Finds `0: ` or `host: `, which `srun --label` and pdsh print before each line. srun aligns the numbers.
fn label(text: &str) -> Option<Prefix> {
    let (name, rest) = text.split_once(':')?;
    let name = name.trim_start_matches(' ');
    let is_name =
        (1..=64).contains(&name.len()) && name.chars().all(|each| is_name_character(each) && each != '/');
    ended(text, rest, is_name, 'l', name)
}

/// Finds `name-1  | `, which docker compose prints before each line.
fn compose(text: &str) -> Option<Prefix> {
    let (name, rest) = text.split_once('|')?;
    let name = name.trim_end_matches(' ');
    let is_name =
        (1..=64).contains(&name.len()) && name.chars().all(|each| is_name_character(each) && each != '/');
    ended(text, rest, is_name, 'c', name)
}

/// Finds `host unit[1]: `, which journald prints after the time.
fn unit(text: &str) -> Option<Prefix> {
    let (name, rest) = text
        .split_once(": ")
        .or_else(|| Some((text.strip_suffix(':')?, "")))?;
    let (host, unit) = name.split_once(' ')?;
    let (program, process) = unit.strip_suffix(']').and_then(|unit| unit.split_once('['))?;
    let is_name = [host, program]
        .iter()
        .all(|name| !name.is_empty() && name.chars().all(is_name_character))
        && !process.is_empty()
        && process.bytes().all(|byte| byte.is_ascii_digit());
    let length = text.len() - rest.len();
    is_name.then(|| Prefix {
        kind: 'j',
        tag: name.to_owned(),
        length,
    })
}

/// Finds a name such as `group/stream`, which CloudWatch prints after the time.
fn stream_name(text: &str) -> Option<Prefix> {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let is_name = name.contains('/') && name.len() <= MAX_BYTES && name.chars().all(is_name_character);
    let has_letter = name.chars().any(|each| each.is_ascii_alphabetic());
    let length = text.len() - rest.len();
    (is_name && has_letter).then(|| Prefix {
        kind: 'w',
        tag: name.to_owned(),
        length,
    })
}

/// Creates the prefix that `rest` follows: it ends with a space, or with the end of the line.
fn ended(text: &str, rest: &str, is_name: bool, kind: char, tag: &str) -> Option<Prefix> {
    let space = usize::from(rest.starts_with([' ', '\t']));
    (is_name && (space == 1 || rest.is_empty())).then(|| Prefix {
        kind,
        tag: tag.to_owned(),
        length: text.len() - rest.len() + space,
    })
}
