//! The `OpenAPI` document, written from the table of routes.

use serde_json::{Map, Value, json};

use crate::completion::MESSAGE_ROLES;
use crate::route::{
    ApiRoute, BodyField, FieldType, MOST_ENTRIES, OwnAnswer, ROUTES, RouteAnswer, RouteMethod,
};

/// The document.
pub(crate) fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert(route.method.as_str().to_ascii_lowercase(), operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Agentry",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents, their runs, and what waits for a person.",
        },
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": {
                "Error": error_schema(&json!({ "type": "string" })),
                // With an object where the protocol of the client wants one.
                "ClientError": error_schema(&json!({ "type": ["string", "object"] })),
            },
        },
        "paths": paths,
    })
}

fn error_schema(error: &Value) -> Value {
    let properties = json!({ "error": error, "message": { "type": "string" } });
    json!({ "type": "object", "required": ["error"], "properties": properties })
}

fn operation(route: &ApiRoute) -> Value {
    let mut operation = json!({
        "summary": route.summary,
        "operationId": operation_id(route),
        "parameters": parameters(route),
        "responses": responses(route),
    });
    if let Some(fields) = operation.as_object_mut() {
        if let Some(scope) = route.scope {
            fields.insert("security".to_owned(), json!([{ "token": [scope.as_str()] }]));
        }
        let is_message = is_own(route, OwnAnswer::McpMessage);
        if !route.fields.is_empty() || is_message {
            let schema = if is_message { rpc_message() } else { schema(route.fields) };
            let content = json!({ "application/json": { "schema": schema } });
            let body = json!({ "required": true, "content": content });
            fields.insert("requestBody".to_owned(), body);
        }
    }
    operation
}

/// `get_v1_runs_id_events`.
fn operation_id(route: &ApiRoute) -> String {
    let path: String =
        route.path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let parts = path.split('_').filter(|part| !part.is_empty());
    let method = route.method.as_str().to_ascii_lowercase();
    [method.as_str()].into_iter().chain(parts).collect::<Vec<_>>().join("_")
}

fn parameters(route: &ApiRoute) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let path = names.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let query = route.query.iter().map(|name| {
        let schema = match *name {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": MOST_ENTRIES }),
            _ => json!({ "type": "string" }),
        };
        json!({ "name": name, "in": "query", "schema": schema })
    });
    let header = |name: &str, schema: Value, is_meant: bool| {
        is_meant.then(|| json!({ "name": name, "in": "header", "schema": schema }))
    };
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 200 });
    let number = json!({ "type": "integer", "minimum": 0 });
    let headers = [
        header("Idempotency-Key", key, has_field(route, "agent")),
        header("Last-Event-ID", number, matches!(route.answer, RouteAnswer::Events)),
    ];
    path.chain(query).chain(headers.into_iter().flatten()).collect()
}

fn schema(fields: &[BodyField]) -> Value {
    let kind = |field: &BodyField| match field.kind {
        FieldType::Text => json!({ "type": "string" }),
        FieldType::Prefixed(start) => json!({ "type": "string", "pattern": format!("^{start}.") }),
        FieldType::Messages { or_text: false } => messages(),
        FieldType::Messages { or_text: true } => {
            json!({ "anyOf": [{ "type": "string" }, messages()] })
        }
        FieldType::Word(words) => json!({ "enum": words }),
        FieldType::Any => json!({}),
    };
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.to_owned(), kind(field))).collect();
    let required = fields.iter().filter(|field| field.is_required).map(|field| field.name);
    json!({
        "type": "object",
        "properties": properties,
        "required": required.collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

/// A message of JSON-RPC.
fn rpc_message() -> Value {
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": ["string", "integer"] },
            "method": { "type": "string" },
            "params": { "type": "object" },
        },
        "required": ["jsonrpc"],
    })
}

/// A conversation of an `OpenAI` client, as far as it is taken.
fn messages() -> Value {
    // No prompt has a NUL.
    let text = json!({ "type": "string", "pattern": r"^[^\u0000]*$" });
    let part = json!({ "type": "object", "properties": { "text": text }, "required": ["text"] });
    let content = json!({ "anyOf": [text, { "type": "array", "items": part }] });
    let message = json!({
        "type": "object",
        "properties": { "role": { "enum": MESSAGE_ROLES }, "content": content },
        "required": ["content"],
    });
    json!({ "type": "array", "minItems": 1, "items": message })
}

fn responses(route: &ApiRoute) -> Value {
    let types = |types: &[&str]| types.iter().map(|it| ((*it).to_owned(), json!({}))).collect();
    let name = if is_model(route) || is_mcp(route) { "ClientError" } else { "Error" };
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    let error = json!({ "application/json": { "schema": schema } });
    let mut responses = Map::new();
    let mut add = |status: &str, what: &str, content: Value| {
        responses.insert(status.to_owned(), json!({ "description": what, "content": content }));
    };
    add("200", "It was done.", types(content_types(&route.answer)));
    if matches!(route.answer, RouteAnswer::Own(OwnAnswer::McpMessage)) {
        add("202", "The notice or the answer was taken.", types(&["text/plain"]));
    }
    for (status, what, is_meant) in ERRORS {
        if is_meant(route) {
            add(status, what, error.clone());
        }
    }
    Value::Object(responses)
}

/// The types of an answer. A client of models says in its request whether it wants a stream.
fn content_types(answer: &RouteAnswer) -> &'static [&'static str] {
    use OwnAnswer::{ChatCompletion, McpEnd, McpMessage, Metrics, Response};
    match answer {
        RouteAnswer::Events => &["text/event-stream"],
        RouteAnswer::Text(_) | RouteAnswer::Own(Metrics | McpEnd) => &["text/plain"],
        RouteAnswer::Own(ChatCompletion | Response | McpMessage) => {
            &["application/json", "text/event-stream"]
        }
        RouteAnswer::Host(_) | RouteAnswer::Own(_) => &["application/json"],
    }
}

/// A status, what it means, and the routes that can have it.
type RouteError = (&'static str, &'static str, fn(&ApiRoute) -> bool);

/// The errors of routes.
const ERRORS: &[RouteError] = &[
    ("400", "A parameter, a header or the body does not fit.", |_| true),
    ("401", "There is no token or code, or it is not known.", |route| {
        route.scope.is_some() || is_own(route, OwnAnswer::Pair)
    }),
    ("403", "The token has another scope, or the request comes from another page.", |_| true),
    ("404", "There is no such thing.", |route| {
        route.path.contains('{')
            || is_mcp(route)
            || is_model(route)
            || route.query.contains(&"agent")
            || has_field(route, "agent")
    }),
    ("406", "`Accept` lacks one of the two forms of an answer.", |route| {
        is_own(route, OwnAnswer::McpMessage)
    }),
    ("408", "The body did not arrive in time.", |route| route.method == RouteMethod::Post),
    ("409", "It does not fit what is there now.", |route| route.method == RouteMethod::Post),
    ("413", "The body has more than 1 MiB.", |route| route.method == RouteMethod::Post),
    ("415", "The body is not `application/json`.", |route| route.method == RouteMethod::Post),
    ("421", "The request is for another host.", |_| true),
    ("500", "It could not be done.", |_| true),
    ("502", "The run failed.", is_model),
    ("503", "Too much is open already.", |_| true),
];

fn is_own(route: &ApiRoute, own: OwnAnswer) -> bool {
    matches!(route.answer, RouteAnswer::Own(it) if it == own)
}

fn is_mcp(route: &ApiRoute) -> bool {
    is_own(route, OwnAnswer::McpMessage) || is_own(route, OwnAnswer::McpEnd)
}

fn is_model(route: &ApiRoute) -> bool {
    is_own(route, OwnAnswer::ChatCompletion) || is_own(route, OwnAnswer::Response)
}

fn has_field(route: &ApiRoute, name: &str) -> bool {
    route.fields.iter().any(|field| field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_ids_are_unique() {
        let mut ids: Vec<_> = ROUTES.iter().map(operation_id).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "{ids:?}");
        let document = document();
        let answer = &document["paths"]["/v1/approvals/{id}"]["post"];
        let schema = &answer["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(schema["properties"]["answer"]["enum"], json!(["yes", "no", "always", "exact"]));
        assert_eq!(answer["security"], json!([{ "token": ["approve"] }]));
        let body = |path: &str| {
            let post = &document["paths"][path]["post"]["requestBody"];
            post["content"]["application/json"]["schema"]["properties"].clone()
        };
        let (chat, response) = (body("/v1/chat/completions"), body("/v1/responses"));
        assert_eq!(chat["messages"]["minItems"], 1);
        assert_eq!(response["input"]["anyOf"][1], chat["messages"]);
        assert_eq!(response["previous_response_id"]["pattern"], "^resp_.");
        assert_eq!(document["paths"]["/healthz"]["get"]["security"], Value::Null);
    }
}
