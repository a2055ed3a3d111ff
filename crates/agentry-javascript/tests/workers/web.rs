//! What tools expect of the web.

use serde_json::{Value, json};

use crate::broker::{LONG, TestBroker, call, probe, run};
use agentry_javascript::{DescribedTool, JobLimits, LogLevel, ScriptBlock};

fn check(cases: &[(&str, Value)]) {
    for (code, expected) in cases {
        assert_eq!(run(code).as_ref(), Ok(expected), "{code}");
    }
}

#[test]
fn url_and_text_apis_behave_as_in_browsers() {
    check(&[
        (
            "const u = new URL('../b?q=1#h', 'https://me:pw@example.com:8080/x/a'); return [u.href, u.origin, u.protocol, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.username, u.password];",
            json!([
                "https://me:pw@example.com:8080/b?q=1#h",
                "https://example.com:8080",
                "https:",
                "example.com:8080",
                "example.com",
                "8080",
                "/b",
                "?q=1",
                "#h",
                "me",
                "pw"
            ]),
        ),
        (
            "const u = new URL('https://example.com'); u.searchParams.append('a', 'b c'); u.searchParams.set('d', 'ä'); u.hash = 'x'; return [String(u), JSON.stringify({ u })];",
            json!([
                "https://example.com/?a=b+c&d=%C3%A4#x",
                r#"{"u":"https://example.com/?a=b+c&d=%C3%A4#x"}"#
            ]),
        ),
        (
            "const u = new URL('https://example.com/?a=1'); const p = u.searchParams; u.search = '?b=2'; u.port = '99'; return [u.searchParams.get('b'), p.get('a'), u.href, URL.canParse('nope'), URL.parse('nope')];",
            json!(["2", "1", "https://example.com:99/?b=2", false, null]),
        ),
        (
            "try { new URL('nope'); } catch (e) { return [e.name, e.message]; }",
            json!(["TypeError", "`nope` is not a valid URL"]),
        ),
        (
            "const p = new URLSearchParams('?b=2&a=1&b=3'); p.delete('b', '2'); p.append('c', '&'); p.sort(); return [[...p], p.getAll('b'), p.has('a'), p.get('z'), p.size, String(new URLSearchParams({ x: 'y' })), String(new URLSearchParams([['k', 'v']]))];",
            json!([[["a", "1"], ["b", "3"], ["c", "&"]], ["3"], true, null, 3, "x=y", "k=v"]),
        ),
        (
            "return [[...new TextEncoder().encode('ä€')], new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 104, 105])), new TextDecoder().decode(new Uint8Array([0xff, 104]))];",
            json!([[195, 164, 226, 130, 172], "hi", "\u{fffd}h"]),
        ),
        (
            "const d = new TextDecoder(); return [d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }), d.decode(new Uint8Array([0xac]))];",
            json!(["", "€"]),
        ),
        (
            "try { new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff])); } catch (e) { return e.name; }",
            json!("TypeError"),
        ),
    ]);
}

#[test]
fn abort_signals_timers_and_clones_work() {
    check(&[
        (
            "const c = new AbortController(); const seen = []; c.signal.addEventListener('abort', (e) => seen.push(e.type)); c.signal.onabort = () => seen.push('on'); c.abort(); c.abort(); return [seen, c.signal.aborted, c.signal.reason.name, AbortSignal.abort(5).reason];",
            json!([["on", "abort"], true, "AbortError", 5]),
        ),
        (
            "const s = AbortSignal.any([AbortSignal.timeout(1), new AbortController().signal]); await new Promise((r) => s.addEventListener('abort', r)); return s.reason.name;",
            json!("TimeoutError"),
        ),
        (
            "const seen = []; setTimeout(() => seen.push('b'), 5); setTimeout((x) => seen.push(x), 1, 'a'); clearTimeout(setTimeout(() => seen.push('never'), 2)); let n = 0; await new Promise((r) => { const i = setInterval(() => { n += 1; if (n === 3) { clearInterval(i); r(); } }, 4); }); return [seen, n];",
            json!([["a", "b"], 3]),
        ),
        (
            "const a = { d: new Date(0), m: new Map([[1, new Set([2])]]), r: /x/g, u: new Uint8Array([1, 2]), n: [1, , 3] }; a.self = a; const b = structuredClone(a); return [b !== a, b.self === b, b.d.getTime(), b.m.get(1).has(2), b.r.flags, [...b.u], b.n.length];",
            json!([true, true, 0, true, "g", [1, 2], 3]),
        ),
        (
            "const s = structuredClone(JSON.parse('{\"__proto__\":{\"admin\":true}}')); return [s.admin === undefined, Object.keys(s)];",
            json!([true, ["__proto__"]]),
        ),
        (
            "const seen = []; for (const [ms, name] of [[9, 'd'], [1, 'a'], [5, 'c'], [1, 'b']]) setTimeout(() => seen.push(name), ms); await new Promise((r) => setTimeout(r, 12)); return seen.join('');",
            json!("abcd"),
        ),
        (
            "let n = 0; await Promise.all(Array.from({ length: 3000 }, (_, i) => new Promise((r) => setTimeout(() => { n += 1; r(); }, i % 7)))); return n;",
            json!(3000),
        ),
        (
            "const c = new AbortController(); const seen = []; c.signal.addEventListener('abort', () => { throw new Error('first'); }); c.signal.addEventListener('abort', (e) => seen.push(e.target === c.signal)); c.signal.onabort = (e) => seen.push(e.target === c.signal); c.abort(); return seen;",
            json!([true, true]),
        ),
        (
            "const t = new EventTarget(); const c = new AbortController(); const seen = []; t.addEventListener('x', (e) => seen.push(e.detail), { signal: c.signal }); t.dispatchEvent(new CustomEvent('x', { detail: 1 })); c.abort(); t.dispatchEvent(new CustomEvent('x', { detail: 2 })); return seen;",
            json!([1]),
        ),
        (
            "for (const name of ['trace', 'dir', 'table', 'group', 'groupEnd', 'count', 'time', 'timeLog', 'timeEnd']) console[name]('a'); console.assert(false, 'b'); return 'fine';",
            json!("fine"),
        ),
        (
            "try { structuredClone({ f() {} }); } catch (e) { return e.name; }",
            json!("DataCloneError"),
        ),
        ("return [btoa('hello'), atob('aGVsbG8=')];", json!(["aGVsbG8=", "hello"])),
        (
            "const a = crypto.randomUUID(); return [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(a), a !== crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(4)).some((n) => n > 0)];",
            json!([true, true, true]),
        ),
        (
            "const hex = (b) => Array.from(new Uint8Array(b), (n) => n.toString(16).padStart(2, '0')).join(''); return [hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'))), (await crypto.subtle.digest({ name: 'sha-512' }, new ArrayBuffer(0))).byteLength];",
            json!(["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 64]),
        ),
    ]);
}

#[test]
fn fetch_requests_and_responses_work() {
    check(&[
        (
            "const r = await fetch('https://open.example/json', null); const c = r.clone(); return [await r.text(), (await c.json()).a, r.bodyUsed, c.bodyUsed];",
            json!(["{\"a\":1}", 1, true, true]),
        ),
        (
            "const all = await Promise.all(Array.from({ length: 100 }, () => fetch('https://open.example/json').then((r) => r.text()))); return all.length;",
            json!(100),
        ),
        (
            "const h = new Headers([['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x', '1'], ['x', '2']]); return [...h];",
            json!([["set-cookie", "a=1"], ["set-cookie", "b=2"], ["x", "1, 2"]]),
        ),
        (
            "const q = new Request('https://open.example/json', { method: 'POST', body: 'x' }).clone(); return [q.method, await q.text(), Response.redirect('https://a.example/').headers.get('location')];",
            json!(["POST", "x", "https://a.example/"]),
        ),
        (
            "const r = await fetch('https://open.example/json'); return [r.ok, r.status, r.statusText, r.headers.get('Content-Type'), r.url, await r.json(), r.bodyUsed];",
            json!([true, 200, "OK", "text/plain", "https://open.example/json", { "a": 1 }, true]),
        ),
        (
            "const r = await fetch('https://open.example/missing'); return [r.ok, r.status, await r.text().catch(() => 'n/a')];",
            json!([false, 404, "not here"]),
        ),
        (
            "const r = await fetch('https://open.example/cut'); return [await r.text()];",
            json!(["ä"]),
        ),
        (
            "const r = await fetch(new URL('https://open.example/text')); const out = []; for await (const piece of r.body) out.push(piece.length); return out;",
            json!([5]),
        ),
        (
            "const r = await fetch('https://open.example/text'); const reader = r.body.getReader(); const a = await reader.read(); const b = await reader.read(); return [a.done, a.value.length, b.done];",
            json!([false, 5, true]),
        ),
        (
            "return new Uint8Array(await (await fetch(new Request('https://open.example/echo', { method: 'post', body: new Uint8Array([0, 255, 128]) }))).arrayBuffer()).join();",
            json!("0,255,128"),
        ),
        (
            "const c = new AbortController(); const f = fetch('https://open.example/slow', { signal: c.signal }); setTimeout(() => c.abort(), 5); return await f.catch((e) => e.name);",
            json!("AbortError"),
        ),
        (
            "return await fetch('https://open.example/slow', { signal: AbortSignal.timeout(5) }).catch((e) => e.name);",
            json!("TimeoutError"),
        ),
        (
            "const r = Response.json({ a: [1] }, { status: 201 }); return [r.status, r.headers.get('content-type'), (await r.json()).a];",
            json!([201, "application/json", [1]]),
        ),
        (
            "const h = new Headers({ B: '2', a: '1' }); h.append('b', '3'); return [[...h], h.has('A'), h.get('none')];",
            json!([[["a", "1"], ["b", "2, 3"]], true, null]),
        ),
        (
            "return [typeof ctx.fetch, typeof ctx.log, ctx.signal.aborted, Object.keys(ctx)];",
            json!(["function", "function", false, ["env", "log", "fetch", "signal"]]),
        ),
        (
            "return { list: [1, 'two', null, true], ä: 'ö' };",
            json!({ "list": [1, "two", null, true], "ä": "ö" }),
        ),
    ]);
}

/// Labels mean what they mean in a browser.
#[test]
fn text_decoders_support_browser_encodings() {
    check(&[
        (
            "const d = (label, ...bytes) => new TextDecoder(label).decode(new Uint8Array(bytes)); return [d('latin1', 0x67, 0xfc, 0x80, 0x81), d('ISO-8859-1 ', 0xe4), d('ascii', 0x61), d('utf-16le', 0x3d, 0xd8, 0, 0xde, 0x61, 0), d('utf-16', 0xff, 0xfe, 0x61, 0), d('utf-16be', 0xfe, 0xff, 0, 0x61)];",
            json!(["gü€\u{81}", "ä", "a", "😀a", "a", "a"]),
        ),
        (
            "return ['latin1', 'UTF8', 'ucs-2', 'utf-16be'].map((label) => new TextDecoder(label).encoding);",
            json!(["windows-1252", "utf-8", "utf-16le", "utf-16be"]),
        ),
        (
            "const d = new TextDecoder('utf-16le'); return [[0x3d], [0xd8, 0], [0xde], [0x61, 0]].map((piece) => d.decode(new Uint8Array(piece), { stream: true })).concat(d.decode());",
            json!(["", "", "😀", "a", ""]),
        ),
        (
            "const d = new TextDecoder('utf-16le'); return [d.decode(new Uint8Array([0, 0xd8])), d.decode(new Uint8Array([0x61, 0, 0x62]))];",
            json!(["\u{fffd}", "a\u{fffd}"]),
        ),
        (
            "const d = new TextDecoder(); const mark = new Uint8Array([0xef, 0xbb, 0xbf]); return [d.decode(mark, { stream: true }), d.decode(mark, { stream: true }), d.decode(), d.decode(mark)].map((text) => text.length);",
            json!([0, 1, 0, 0]),
        ),
        (
            "const names = []; for (const label of ['utf-16le', 'klingon']) { try { new TextDecoder(label, { fatal: true }).decode(new Uint8Array([0, 0xd8])); } catch (e) { names.push(e.name); } } return names;",
            json!(["TypeError", "RangeError"]),
        ),
    ]);
}

#[test]
fn blobs_files_and_forms_work() {
    check(&[
        (
            "const b = new Blob(['ä', new Uint8Array([98]), new Blob(['c'])], { type: 'Text/Plain' }); return [b.size, b.type, await b.text(), await b.slice(2, 3).text(), await b.slice(-1).text(), (await b.arrayBuffer()).byteLength, [...(await b.bytes())], String(b)];",
            json!([4, "text/plain", "äbc", "b", "c", 4, [195, 164, 98, 99], "[object Blob]"]),
        ),
        (
            "const f = new File(['x'], 'a.txt', { type: 'text/plain', lastModified: 5 }); return [f.name, f.size, f.lastModified, f instanceof Blob, await new Response(f.stream()).text()];",
            json!(["a.txt", 1, 5, true, "x"]),
        ),
        (
            "const f = new FormData(); f.append('a', 1); f.append('b', 'x'); f.append('a', 2); f.set('a', 3); f.append('c', new Blob(['z'])); f.delete('b'); return [[...f.keys()], f.get('a'), f.getAll('a'), f.has('b'), f.get('c').name, f.get('none')];",
            json!([["a", "c"], "3", ["3"], false, "blob", null]),
        ),
        (
            "const f = await new Response('a=1&b=x+y', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }).formData(); return [...f];",
            json!([["a", "1"], ["b", "x y"]]),
        ),
        (
            "const b = await (await fetch('https://open.example/text')).blob(); return [b.type, await b.text()];",
            json!(["text/plain", "hello"]),
        ),
        ("try { new Blob('x'); } catch (e) { return e.name; }", json!("TypeError")),
    ]);
}

#[test]
fn form_data_is_sent_as_multipart() {
    let broker = TestBroker::default();
    let code = "const f = new FormData(); f.append('a\"\\r\\nb', 'one\\ntwo'); f.append('file', new File([new Uint8Array([0, 255])], 'x\"y.bin')); \
                await fetch('https://open.example/echo', { method: 'POST', body: f }); \
                await fetch('https://open.example/echo', { method: 'POST', body: new Blob(['b'], { type: 'image/png' }) }); \
                await fetch('https://open.example/echo', { method: 'POST', duplex: 'half', body: ReadableStream.from([new Uint8Array([1]), new Uint8Array([2])]) });";
    call(&probe(code), &json!({}), LONG, &broker).expect("a result");
    let asked = broker.asked.lock().expect("a lock");
    let type_of = |at: usize| {
        let mut headers = asked[at].0.headers.iter();
        headers.find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str())
    };
    let form = type_of(0).and_then(|it| it.strip_prefix("multipart/form-data; boundary="));
    let boundary = form.expect("a boundary");
    let body = String::from_utf8_lossy(&asked[0].1).into_owned();
    // A name ends neither its quotes nor its line.
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a%22%0D%0Ab\"\r\n\r\none\r\ntwo\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x%22y.bin\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n\0\u{fffd}\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, expected);
    assert_eq!((type_of(1), asked[1].1.as_slice()), (Some("image/png"), &b"b"[..]));
    assert_eq!((type_of(2), asked[2].1.as_slice()), (None, &[1, 2][..]));
}

#[test]
fn streams_are_read_and_piped() {
    check(&[
        (
            "const r = await fetch('https://open.example/json'); const out = []; for await (const text of r.body.pipeThrough(new TextDecoderStream())) out.push(text); return [r.body instanceof ReadableStream, out];",
            json!([true, ["{\"a\":", "1}"]]),
        ),
        (
            "let n = 0; const s = new ReadableStream({ pull(c) { n += 1; c.enqueue(n); if (n === 3) c.close(); } }); const out = []; for await (const x of s) out.push(x); return [out, n];",
            json!([[1, 2, 3], 3]),
        ),
        (
            "let n = 0; const s = new ReadableStream({ pull(c) { n += 1; c.enqueue(n); } }, { highWaterMark: 2 }); await new Promise((r) => setTimeout(r, 5)); const reader = s.getReader(); await reader.read(); await new Promise((r) => setTimeout(r, 5)); return n;",
            json!(3),
        ),
        (
            "const s = new ReadableStream({ start(c) { c.enqueue('a'); c.error(new Error('broken')); } }); return s.getReader().read().catch((e) => e.message);",
            json!("broken"),
        ),
        (
            "let why = null; const s = new ReadableStream({ cancel(reason) { why = reason; } }); await s.cancel('enough'); const r = s.getReader(); return [why, (await r.read()).done, s.locked];",
            json!(["enough", true, true]),
        ),
        (
            "const s = ReadableStream.from(['a', Promise.resolve('b')]); const [x, y] = s.tee(); const all = async (s) => { const out = []; for await (const it of s) out.push(it); return out; }; return [await all(x), await all(y), s.locked];",
            json!([["a", "b"], ["a", "b"], true]),
        ),
        (
            "const out = []; const up = new TransformStream({ transform: (text, c) => c.enqueue(text.toUpperCase()), flush: (c) => c.enqueue('!') }); await ReadableStream.from(['a', 'b']).pipeThrough(up).pipeTo(new WritableStream({ write: (it) => void out.push(it), close: () => void out.push('end') })); return out;",
            json!(["A", "B", "!", "end"]),
        ),
        (
            "const s = new ReadableStream(); const r = s.getReader(); const first = r.read().catch((e) => e.name); r.releaseLock(); try { s.getReader(); s.getReader(); } catch (e) { return [await first, e.name]; }",
            json!(["TypeError", "TypeError"]),
        ),
        (
            "const pieces = ReadableStream.from([1, 2, 3]); const failed = await pieces.pipeTo(new WritableStream({ write() { throw new Error('full'); } })).catch((e) => e.message); return [failed, pieces.locked];",
            json!(["full", false]),
        ),
        (
            "const r = await fetch('https://open.example/text'); const before = r.bodyUsed; for await (const _ of r.body) {} return [before, r.bodyUsed, await r.text().catch((e) => e.name)];",
            json!([false, true, "TypeError"]),
        ),
        (
            "return await new Response(ReadableStream.from(['text'])).text().catch((e) => e.message);",
            json!("a body is a stream of bytes"),
        ),
    ]);
}

#[test]
fn headers_and_signals_follow_the_standard() {
    check(&[
        (
            "const wrong = [() => new Headers([['a']]), () => new Headers([['a', 'b', 'c']]), () => new Headers({ 'a b': 'c' }), () => new Headers({ a: '\\u0100' }), () => new Headers().get('a:'), () => new Headers().has(''), () => new Headers({ a: 'b\\nc' })]; return wrong.map((it) => { try { it(); return 'fine'; } catch (e) { return e.name; } });",
            json!([
                "TypeError",
                "TypeError",
                "TypeError",
                "TypeError",
                "TypeError",
                "TypeError",
                "TypeError"
            ]),
        ),
        (
            "const h = new Headers(new Map([['X', ' 1\\t\\r\\n']])); h.append('x', ''); h.set('Y', 2); return [h.get('X'), [...h.keys()], new Headers(h).get('y'), String(h)];",
            json!(["1, ", ["x", "y"], "2", "[object Headers]"]),
        ),
        (
            "const a = new AbortController(); const any = AbortSignal.any([a.signal, AbortSignal.timeout(100000)]); a.abort('why'); const done = AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]); return [any.aborted, any.reason, done.reason, AbortSignal.any([]).aborted];",
            json!([true, "why", 1, false]),
        ),
    ]);
}

#[test]
fn requests_send_method_headers_and_body() {
    let broker = TestBroker::default();
    let code = "await fetch('https://open.example/echo', { method: 'PUT', headers: { Authorization: 'Bearer x' }, body: 'ä' }); \
                await fetch('https://open.example/echo', { method: 'POST', body: new URLSearchParams({ a: 'b' }) });";
    call(&probe(code), &json!({}), LONG, &broker).expect("a result");
    let asked = broker.asked.lock().expect("a lock");
    let (first, body) = &asked[0];
    assert_eq!((first.method.as_str(), body.as_slice()), ("PUT", "ä".as_bytes()));
    assert!(first.headers.contains(&("authorization".to_owned(), "Bearer x".to_owned())));
    let (second, body) = &asked[1];
    assert_eq!(body, b"a=b");
    let form = "application/x-www-form-urlencoded;charset=UTF-8".to_owned();
    assert!(second.headers.contains(&("content-type".to_owned(), form)), "{second:?}");
}

#[test]
fn the_console_writes_to_the_log() {
    let broker = TestBroker::default();
    let code = "console.log('a', 1, { b: [2] }); console.error(new TypeError('no')); ctx.log('c');";
    call(&probe(code), &json!({}), LONG, &broker).expect("a result");
    let expected = [
        (LogLevel::Info, "a 1 {\"b\":[2]}".to_owned()),
        (LogLevel::Error, "TypeError: no".to_owned()),
        (LogLevel::Info, "c".to_owned()),
    ];
    assert_eq!(*broker.log.lock().expect("a lock"), expected);
}

#[test]
fn describe_lists_tools_with_their_schemes() {
    let blocks = [
        (
            "return { One: { fn() {}, scheme: { name: 'one', description: 'd', parameters: { type: 'object' } } } };",
            5,
        ),
        (
            "return { two: { fn: 5, scheme: { type: 'function', function: { name: 'two' } } }, three: null };",
            20,
        ),
    ];
    let blocks = blocks.map(|(text, line)| ScriptBlock { line, text: text.to_owned() });
    let broker = TestBroker::default();
    let limits = JobLimits { time: LONG, ..JobLimits::default() };
    let found = crate::broker::block_on(crate::broker::POOL.describe(&blocks, limits, &broker));
    let tool = |block, key: &str, has_function, scheme| DescribedTool {
        block,
        key: key.to_owned(),
        has_function,
        scheme,
    };
    let expected = vec![
        tool(
            0,
            "One",
            true,
            json!({ "name": "one", "description": "d", "parameters": { "type": "object" } }),
        ),
        tool(1, "two", false, json!({ "name": "two" })),
        tool(1, "three", false, json!(null)),
    ];
    assert_eq!(found, Ok(expected));
}
