// The script of the page: pairs, loads fragments, follows a run. Text of agents only ever arrives as HTML that the
// server has escaped, or is set as text.
'use strict';

const main = document.getElementById('main');
const message = document.getElementById('message');
const isLocal = /^(localhost|127\.|\[::1\])/.test(location.hostname + '.');
// On this machine a token lasts as long as the tab; a paired device keeps its own.
const store = isLocal ? sessionStorage : localStorage;
let token = store.getItem('agentry-token');
let shown = '';
let streams = [];
let visit = 0;
let hasEnded = false;
// When buttons last moved without a person asking for it.
let moved = -Infinity;
const SETTLING = 600;

function tell(text) {
  message.textContent = text;
  message.hidden = !text;
}

async function ask(path, options = {}) {
  const headers = Object.assign({ authorization: 'Bearer ' + token }, options.headers);
  const reply = await fetch(path, Object.assign({}, options, { headers, cache: 'no-store' }));
  if (reply.status === 401) {
    token = null;
    store.removeItem('agentry-token');
    welcome();
  }
  return reply;
}

async function complaint(reply) {
  try {
    const body = await reply.json();
    if (body.error === 'consent') return 'Nobody agreed yet to what this agent may do: open it under Agents.';
    if (body.error === 'answered') return 'It was answered before: ' + body.answer + (body.reason ? ', ' + body.reason : '');
    return body.message || body.error || reply.statusText;
  } catch {
    return reply.statusText;
  }
}

function welcome() {
  stop();
  const text = document.createElement('p');
  text.textContent = 'This page needs a link: run "agentry serve --open" on the machine, or "agentry serve pair" for another device.';
  main.replaceChildren(text);
}

async function pair() {
  const found = /^#code=([0-9a-f]{64})$/.exec(location.hash);
  if (!found) return;
  // The code leaves the address bar and the history at once.
  history.replaceState(null, '', '/');
  const body = JSON.stringify({ code: found[1] });
  const reply = await fetch('/v1/pair', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (!reply.ok) return tell(await complaint(reply));
  token = (await reply.json()).token;
  store.setItem('agentry-token', token);
}

// The server escapes everything; a parsed document runs no script.
function parsed(html) {
  const document = new DOMParser().parseFromString(html, 'text/html');
  for (const time of document.querySelectorAll('time')) {
    const at = new Date(time.dateTime);
    if (!isNaN(at)) time.textContent = at.toLocaleString();
  }
  return [...document.body.childNodes];
}

function stop() {
  streams.forEach((stream) => stream.abort());
  streams = [];
}

function isTyping() {
  const fields = [...main.querySelectorAll('textarea, input:not([type=hidden])')];
  return fields.some((field) => field.value !== '' || field === document.activeElement)
    || main.contains(document.activeElement) && document.activeElement.tagName === 'SELECT';
}

async function load(isNew) {
  if (!token) return welcome();
  const part = location.hash.startsWith('#/') ? location.hash.slice(2) : 'approvals';
  if (isNew) visit += 1;
  const own = visit;
  const reply = await ask('/page/' + part);
  if (own !== visit || !token) return;
  if (!reply.ok) {
    if (isNew) { stop(); main.replaceChildren(); }
    return tell(await complaint(reply));
  }
  const html = await reply.text();
  if (own !== visit || (!isNew && (html === shown || isTyping()))) return;
  const isRun = /^runs\/./.test(part);
  // A run is followed by its events. One that ended may have been continued elsewhere.
  if (!isNew && isRun) return hasEnded ? load(true) : undefined;
  shown = html;
  hasEnded = false;
  stop();
  main.replaceChildren(...parsed(html));
  if (!isNew) moved = performance.now();
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash.slice(2) === part.split(/[/?]/)[0]) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (isNew) main.focus({ preventScroll: true });
  main.querySelectorAll('details[open]').forEach(fill);
  const timeline = main.querySelector('[data-stream]');
  await questions();
  if (timeline) follow(timeline, timeline.dataset.stream, main.querySelector('[data-live]'));
}

// What the shown run waits for. A half-written answer stays.
async function questions() {
  const place = main.querySelector('[data-waiting]');
  if (!place || place.contains(document.activeElement) && isTyping()) return;
  const reply = await ask(place.dataset.waiting);
  if (!reply.ok) return;
  const html = await reply.text();
  if (html === place.dataset.shown) return;
  place.dataset.shown = html;
  // What stood there before may have been under the pointer.
  if (place.hasChildNodes()) moved = performance.now();
  place.replaceChildren(...parsed(html));
}

// Reads server-sent events by fetch, because EventSource sends no token.
async function follow(list, path, live) {
  const control = new AbortController();
  streams.push(control);
  let last = null;
  let ended = false;
  for (let attempt = 0; attempt < 1000 && !ended && !control.signal.aborted; attempt += 1) {
    try {
      const headers = last === null ? {} : { 'last-event-id': last };
      const reply = await ask(path, { headers, signal: control.signal });
      if (!reply.ok) return tell(await complaint(reply));
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      let buffer = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        buffer += value;
        const parts = buffer.split('\n\n');
        buffer = parts.pop();
        for (const part of parts) {
          const id = /^id: (\d+)$/m.exec(part);
          const data = /^data: (.*)$/m.exec(part);
          if (!data) continue;
          if (id) last = id[1];
          const event = JSON.parse(data[1]);
          place(list, event, live);
          ended = ended || event.ended === true;
        }
      }
    } catch (error) {
      if (control.signal.aborted) return;
    }
    if (!ended) await new Promise((done) => setTimeout(done, 500));
  }
  if (ended && live) await refreshHead();
}

function place(list, event, live) {
  if (event.text !== undefined) {
    if (live) live.textContent += event.text;
    return;
  }
  if (event.turn && live) live.textContent = '';
  const nodes = parsed(event.html);
  const holder = event.into === null ? null
    : [...list.querySelectorAll('[data-call]')].find((call) => call.dataset.call === event.into);
  if (!holder) return list.append(...nodes);
  // Calls within a call are a list of their own.
  if (nodes.some((node) => node.nodeName === 'LI')) {
    const inner = holder.querySelector(':scope > ol') || holder.appendChild(document.createElement('ol'));
    inner.append(...nodes);
  } else if (!nodes[0] || !nodes[0].dataset || !nodes[0].dataset.delegate
    || ![...holder.querySelectorAll('[data-delegate]')].some((it) => it.dataset.delegate === nodes[0].dataset.delegate)) {
    holder.append(...nodes);
  }
}

// The state of a run that just ended: the head and the buttons, without the timeline.
async function refreshHead() {
  const reply = await ask('/page/' + location.hash.slice(2));
  if (!reply.ok || isTyping()) return;
  const html = await reply.text();
  const fresh = parsed(html);
  const timeline = main.querySelector('.timeline');
  const nodes = fresh.map((node) => node.classList && node.classList.contains('timeline') && timeline ? timeline : node);
  main.replaceChildren(...nodes);
  main.querySelectorAll('details[open]').forEach(fill);
  await questions();
  shown = html;
  hasEnded = true;
}

async function post(path, body, element) {
  const buttons = [...main.querySelectorAll('button')];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    const reply = await ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    if (!reply.ok) return tell(await complaint(reply));
    tell('');
    const result = await reply.json();
    if (element.dataset.goto && result.id) location.hash = '#/' + element.dataset.goto + '/' + encodeURIComponent(result.id);
    else await load(true);
    count();
  } catch (error) {
    tell('The server did not answer.');
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

main.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  // A click that was meant for what stood there a moment ago must not approve of something else. A key has its own target.
  if (button && event.detail > 0 && performance.now() - moved < SETTLING) {
    event.preventDefault();
    return tell('The list has just changed: look again before you answer.');
  }
  if (button && button.dataset.post) post(button.dataset.post, JSON.parse(button.dataset.body), button);
});

main.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = event.target;
  const body = {};
  for (const [name, value] of new FormData(form)) if (value !== '') body[name] = value;
  post(form.dataset.post, body, form);
});

// Ctrl-Enter sends what is typed.
main.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.form) event.target.form.requestSubmit();
});

main.addEventListener('toggle', (event) => fill(event.target), true);

// Loads what belongs into details that are open.
async function fill(details) {
  if (!details.open || details.dataset.isLoaded) return;
  if (details.dataset.load) {
    details.dataset.isLoaded = 'yes';
    const reply = await ask(details.dataset.load);
    if (!reply.ok) {
      delete details.dataset.isLoaded;
      return tell(await complaint(reply));
    }
    details.append(...parsed(await reply.text()));
  } else if (details.dataset.delegate) {
    details.dataset.isLoaded = 'yes';
    follow(details.appendChild(document.createElement('ol')), details.dataset.delegate, null);
  }
}

async function count() {
  if (!token || document.hidden) return;
  const reply = await ask('/page/waiting');
  if (!reply.ok) return;
  const number = await reply.text();
  const badge = document.getElementById('waiting');
  badge.textContent = number;
  badge.hidden = number === '0';
  document.title = number === '0' ? 'Agentry' : '(' + number + ') Agentry';
}

window.addEventListener('hashchange', () => { tell(''); if (location.hash.startsWith('#code=')) start(); else load(true); });

async function start() {
  try {
    await pair();
    await load(true);
    await count();
  } catch (error) {
    tell('The server did not answer.');
  }
}

start();
setInterval(() => { if (token && !document.hidden) Promise.all([count(), load(false), questions()]).catch(() => tell('The server does not answer.')); }, 2000);
