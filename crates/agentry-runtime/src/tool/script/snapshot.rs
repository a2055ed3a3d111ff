//! The files of a script that gets a snapshot: it sees their content and never a path. What it returns is
//! written for it, by the same rules as a call of `write`.

use std::io::Read as _;

use agentry_compile::policy::Section;
use agentry_compile::text::digest::sha256;
use serde_json::{Map, Value, json};

use super::super::files::{self, touch};
use super::super::read::{readable, touched};
use super::super::write::WriteTool;
use super::super::{BuiltInTool as _, CallLocation, ToolHost, ToolTouch};

/// The name of the protocol, which the script gets with its files.
const PROTOCOL: &str = "snapshot-v1";

/// Which arguments are paths, and how much may be in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSnapshot {
    /// The arguments that name files to read.
    pub input_params: Vec<String>,
    /// The argument that names the file to write.
    pub output_param: Option<String>,
    /// The most bytes of one file.
    pub most_input: u64,
    /// The most bytes of all files.
    pub most_total: u64,
    /// The most bytes of the written file.
    pub most_output: u64,
}

impl FileSnapshot {
    /// Returns whether a call writes a file.
    pub(super) fn writes(&self, arguments: &Value) -> bool {
        self.output(arguments).is_some()
    }

    /// Returns what a call reads and writes.
    pub(super) fn touches(
        &self,
        arguments: &Value,
        place: &CallLocation,
    ) -> Result<Vec<ToolTouch>, String> {
        let mut touches = Vec::new();
        for (_, path) in self.inputs(arguments)? {
            touches.extend(touched(&files::resolve(path, place)?, place)?);
        }
        if let Some(path) = self.output(arguments) {
            let path = files::resolve(path, place)?;
            files::unprotected(&path, place)?;
            touches.push(touch(Section::Edit, &path));
        }
        Ok(touches)
    }

    /// Reads the files of a call, and returns the inputs of the script.
    pub(super) fn taken(&self, arguments: &Value, host: &dyn ToolHost) -> Result<Value, String> {
        let mut taken: Map<String, Value> = Map::new();
        let mut total = 0;
        for (param, path) in self.inputs(arguments)? {
            let text = self.text(path, host)?;
            total += text.len() as u64;
            if total > self.most_total {
                let most = self.most_total;
                return Err(format!("its files have more than {most} bytes together"));
            }
            let list = taken.entry(param).or_insert_with(|| json!([]));
            if let Value::Array(list) = list {
                list.push(snapshot(&text));
            }
        }
        let mut plain = arguments.as_object().cloned().unwrap_or_default();
        let is_path = |name: &String| {
            self.input_params.contains(name) || self.output_param.as_ref() == Some(name)
        };
        plain.retain(|name, _| !is_path(name));
        Ok(json!({ "protocol": PROTOCOL, "arguments": plain, "files": taken }))
    }

    fn text(&self, path: &str, host: &dyn ToolHost) -> Result<String, String> {
        let real = readable(path, host)?;
        let file = files::open(&real).map_err(|error| files::why(path, &error))?;
        let mut bytes = Vec::new();
        let taken = file.take(self.most_input + 1).read_to_end(&mut bytes);
        taken.map_err(|error| files::why(path, &error))?;
        if bytes.len() as u64 > self.most_input {
            return Err(format!("`{path}` has more than {} bytes", self.most_input));
        }
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8 text"))
    }

    /// Writes the result of a script, if the call names a file for it.
    pub(super) async fn kept(
        &self,
        arguments: &Value,
        result: Value,
        host: &dyn ToolHost,
    ) -> Result<Value, String> {
        let Some(path) = self.output(arguments) else { return Ok(result) };
        let content = match result {
            Value::String(text) => text,
            Value::Object(mut fields) if fields.contains_key("output") => {
                match fields.remove("output") {
                    Some(Value::String(text)) => text,
                    other => format!("{:#}\n", other.unwrap_or_default()),
                }
            }
            other => format!("{other:#}\n"),
        };
        if content.len() as u64 > self.most_output {
            let (length, most) = (content.len(), self.most_output);
            return Err(format!("its output has {length} bytes; at most {most} are allowed"));
        }
        let written = WriteTool.run(json!({ "path": path, "content": content }), host).await;
        if written.failed { Err(written.text) } else { Ok(Value::String(written.text)) }
    }

    /// Returns the paths to read, each with the name of its argument.
    fn inputs<'a>(&self, arguments: &'a Value) -> Result<Vec<(String, &'a str)>, String> {
        let mut paths = Vec::new();
        for param in &self.input_params {
            match arguments.get(param) {
                None | Some(Value::Null) => {}
                Some(Value::String(path)) => paths.push((param.clone(), path.as_str())),
                Some(Value::Array(list)) => {
                    for path in list {
                        let path = path.as_str();
                        let path = path.ok_or_else(|| format!("`{param}` is no list of paths"))?;
                        paths.push((param.clone(), path));
                    }
                }
                Some(_) => return Err(format!("`{param}` is no path")),
            }
        }
        Ok(paths)
    }

    fn output<'a>(&self, arguments: &'a Value) -> Option<&'a str> {
        arguments.get(self.output_param.as_ref()?)?.as_str()
    }
}

/// One file, without its path.
fn snapshot(text: &str) -> Value {
    let digest = sha256(text);
    json!({ "size": text.len(), "sha256": digest, "content": text })
}
