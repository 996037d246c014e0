//! Kubelets whose clock is wrong: changes the times of containers in the statuses of pods.

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::Uri;
use http::header::CONTENT_LENGTH;
use serde_json::Value;

/// Fields that a kubelet sets from its clock.
const FIELDS: [&str; 2] = ["startedAt", "finishedAt"];

/// Whether a response to a request for `uri` contains pods.
pub(super) fn has_pods(uri: &Uri) -> bool {
    let mut parts = uri.path().trim_end_matches('/').rsplit('/');
    parts.next() == Some("pods")
}

/// Adds `seconds` to the times in a list or watch of pods.
pub(super) fn shift(response: Response, seconds: i64) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let lines = lines(body.into_data_stream().boxed());
    let shifted = lines.map(move |line| line.map(|line| shift_line(&line, seconds)));
    Response::from_parts(parts, Body::from_stream(shifted))
}

type Chunks = BoxStream<'static, Result<Bytes, axum::Error>>;

/// Splits a body into lines. A watch has one event in each line, and a list has one line.
fn lines(chunks: Chunks) -> impl futures::Stream<Item = Result<Vec<u8>, axum::Error>> {
    stream::unfold((chunks, Vec::new()), |(mut chunks, mut buffer)| async move {
        loop {
            if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let rest = buffer.split_off(end + 1);
                return Some((Ok(buffer), (chunks, rest)));
            }
            match chunks.next().await {
                Some(Ok(chunk)) => buffer.extend(chunk),
                Some(Err(error)) => return Some((Err(error), (chunks, buffer))),
                None if buffer.is_empty() => return None,
                None => return Some((Ok(buffer), (chunks, Vec::new()))),
            }
        }
    })
}

fn shift_line(line: &[u8], seconds: i64) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(line).unwrap();
    shift_times(&mut value, seconds);
    let mut line = serde_json::to_vec(&value).unwrap();
    line.push(b'\n');
    line
}

fn shift_times(value: &mut Value, seconds: i64) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(time) if FIELDS.contains(&name.as_str()) => {
                        let shift = jiff::SignedDuration::from_secs(seconds);
                        *time = (time.parse::<jiff::Timestamp>().unwrap() + shift).to_string();
                    }
                    _ => shift_times(value, seconds),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| shift_times(value, seconds)),
        _ => {}
    }
}
