//! The `OpenAPI` document, written from the table of routes.

use serde_json::{Map, Value, json};

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
            "schemas": { "Error": {
                "type": "object",
                "required": ["error"],
                "properties": { "error": { "type": "string" }, "message": { "type": "string" } },
            } },
        },
        "paths": paths,
    })
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
        if !route.fields.is_empty() {
            let content = json!({ "application/json": { "schema": schema(route.fields) } });
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
    path.chain(query).collect()
}

fn schema(fields: &[BodyField]) -> Value {
    let kind = |field: &BodyField| match field.kind {
        FieldType::Text => json!({ "type": "string" }),
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

fn responses(route: &ApiRoute) -> Value {
    let kind = match route.answer {
        RouteAnswer::Events => "text/event-stream",
        RouteAnswer::Text(_) | RouteAnswer::Own(OwnAnswer::Metrics) => "text/plain",
        RouteAnswer::Host(_) | RouteAnswer::Own(_) => "application/json",
    };
    let error =
        json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } });
    let is_mcp = matches!(route.answer, RouteAnswer::Own(OwnAnswer::McpMessage));
    let mut responses = Map::new();
    let mut add = |status: &str, what: &str, content: Value| {
        responses.insert(status.to_owned(), json!({ "description": what, "content": content }));
    };
    add("200", "It was done.", json!({ (kind): {} }));
    if route.scope.is_some() {
        add("401", "There is no token, or it is not known.", error.clone());
        add(
            "403",
            "The token has another scope, or the request comes from another page.",
            error.clone(),
        );
    }
    if is_mcp {
        add("202", "The notice or the answer was taken.", json!({ "text/plain": {} }));
        add("406", "`Accept` lacks one of the two forms of an answer.", json!({ (kind): {} }));
        add("503", "There are too many sessions or open requests.", json!({ (kind): {} }));
    }
    if is_mcp || route.path.contains('{') || route.method == RouteMethod::Delete {
        add("404", "There is no such thing.", error.clone());
    }
    if route.method == RouteMethod::Post {
        add("400", "The body does not fit.", error.clone());
        add("409", "It does not fit what is there now.", error);
    }
    Value::Object(responses)
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
        assert_eq!(document["paths"]["/healthz"]["get"]["security"], Value::Null);
    }
}
