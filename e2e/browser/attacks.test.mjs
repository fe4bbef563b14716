// What must not come in. Each attempt has its control: the same act works for the
// right person.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { leave, visitor } from './browser.mjs';
import { alive, Console } from './console.mjs';

let life;
let visit;
let cookie;

before(async () => {
  life = await alive();
  visit = await life.console.enter();
  const [own] = await visit.context.cookies(visit.origin);
  cookie = `${own.name}=${own.value}`;
  assert.ok(own.httpOnly && own.sameSite === 'Strict', JSON.stringify(own));
});

after(async () => {
  await visit?.context.close();
  await leave();
  await life?.end();
});

// ask sends one request as no browser would, and gives its status and body.
function ask(to, path, { host, headers = {}, method = 'GET', body } = {}) {
  return new Promise((resolve, reject) => {
    const r = request({ ...to, path, method, headers: { Host: host, Accept: 'text/html', ...headers } }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (s) => { text += s; }).on('end', () => resolve({ status: res.statusCode, text, headers: res.headers }));
    });
    r.on('error', reject).end(body);
  });
}

const here = () => {
  const url = new URL(visit.origin);
  return { to: { hostname: '127.0.0.1', port: url.port }, host: url.host, name: url.hostname, port: url.port };
};

test('an old address lets nobody in, and nothing is told', async () => {
  const { to, host } = here();
  const address = await life.console.address();
  const again = await ask(to, address.pathname + address.search, { host });
  assert.equal(again.status, 403);
  assert.doesNotMatch(again.text, /builder|needs-a-person/);
  assert.equal(again.headers['set-cookie'], undefined);
  const { page, context } = await visitor();
  await page.goto(String(address));
  assert.match(await page.title(), /Not yet in/);
  await context.close();
  for (const path of ['/now', '/approvals', '/now/live', '/']) assert.equal((await ask(to, path, { host })).status, 403, path);
  for (const path of ['/now', '/approvals']) assert.equal((await ask(to, path, { host, headers: { Cookie: cookie } })).status, 200, path);
});

test('another name for this host (DNS rebinding) gets nothing, with the right cookie too', async () => {
  const { to, host, port, name } = here();
  for (const wrong of ['evil.test', `evil.test:${port}`, `127.0.0.1:${port}`, `localhost:${port}`, `tipstaff-aaaaaaaaaaaa.localhost:${port}`, `${name}.evil.test:${port}`, `evil.test:${port}@${name}`]) {
    const r = await ask(to, '/now', { host: wrong, headers: { Cookie: cookie } });
    assert.ok(r.status === 421 || r.status === 400, `${wrong}: ${r.status}`); // 400: it is no name
    assert.doesNotMatch(r.text, /builder/, wrong);
  }
  assert.match((await ask(to, '/now', { host, headers: { Cookie: cookie } })).text, /builder/);
});

test('the page of another origin can neither read, nor act, nor frame', async () => {
  const { to, host } = here();
  const evil = createServer((req, res) => res.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>evil</title><body>'));
  await new Promise((resolve) => evil.listen(0, '127.0.0.1', resolve));
  try {
    const page = await visit.context.newPage(); // of the browser that has come in
    const heard = [];
    page.on('response', async (r) => { if (r.url().startsWith(visit.origin)) heard.push([r.status(), r.url()]); });
    await page.goto(`http://127.0.0.1:${evil.address().port}/`);
    const id = life.running[0];
    const got = await page.evaluate(async ([origin, id]) => {
      const tried = {};
      const attempt = (name, f) => f().then((r) => { tried[name] = r; }, (e) => { tried[name] = `refused: ${e.name}`; });
      await attempt('read', () => fetch(`${origin}/now`, { credentials: 'include' }).then((r) => r.text()));
      await attempt('read without cors', () => fetch(`${origin}/now`, { credentials: 'include', mode: 'no-cors' }).then((r) => r.text()));
      await attempt('stop', () => fetch(`${origin}/stop`, { method: 'POST', credentials: 'include', mode: 'no-cors', body: new URLSearchParams({ id, how: 'kill' }) }).then((r) => r.type));
      await attempt('events', () => new Promise((resolve, reject) => {
        const s = new EventSource(`${origin}/now/live`, { withCredentials: true });
        s.onmessage = () => resolve('events came');
        s.onopen = () => resolve('it opened');
        s.onerror = () => { s.close(); reject(new TypeError()); };
      }));
      await attempt('script', () => new Promise((resolve, reject) => {
        const s = document.createElement('script');
        s.src = `${origin}/now`;
        s.onload = () => resolve('it loaded');
        s.onerror = () => reject(new TypeError());
        document.body.append(s);
      }));
      await new Promise((resolve) => {
        const f = document.createElement('iframe');
        f.onload = resolve;
        f.src = `${origin}/now`;
        document.body.append(f);
      });
      const form = document.createElement('form');
      form.method = 'post';
      form.action = `${origin}/stop`;
      form.innerHTML = `<input name="id" value="${id}"><input name="how" value="kill">`;
      document.body.append(form);
      form.submit();
      return tried;
    }, [visit.origin, id]);
    await page.waitForURL(/\/stop$/);
    assert.doesNotMatch(await page.locator('body').innerText(), /being ended/);
    for (const [name, r] of Object.entries(got)) assert.ok(r === '' || r === 'opaque' || String(r).startsWith('refused'), `${name}: ${String(r).slice(0, 200)}`);
    for (const frame of page.frames().slice(1)) assert.doesNotMatch(await frame.content(), /builder/);
    assert.ok(heard.every(([status]) => status >= 400), JSON.stringify(heard));
    const now = await ask(to, '/now', { host, headers: { Cookie: cookie } });
    assert.ok(now.text.includes(id), 'it was stopped');
    // With cookie and address right, the origin alone refuses; without a foreign one it is done.
    const body = new URLSearchParams({ id: 'cmd_none', how: 'kill' }).toString();
    const act = (headers) => ask(to, '/stop', { host, method: 'POST', body, headers: { Cookie: cookie, 'Content-Type': 'application/x-www-form-urlencoded', ...headers } });
    assert.equal((await act({ Origin: 'http://evil.test' })).status, 403);
    assert.equal((await act({ 'Sec-Fetch-Site': 'cross-site' })).status, 403);
    assert.equal((await act({ Origin: 'null' })).status, 403);
    assert.equal((await act({ Origin: visit.origin, 'Sec-Fetch-Site': 'same-origin' })).status, 409, 'control: there is nothing to stop');
    await page.close();
  } finally {
    evil.close();
    evil.closeAllConnections();
  }
});

// another runs a request as another user of this host.
function another(to, host, path, uid) {
  const program = `
    const { request } = require('node:http');
    request({ ...${JSON.stringify(to)}, path: ${JSON.stringify(path)}, headers: { Host: ${JSON.stringify(host)}, Accept: 'text/html', Cookie: ${JSON.stringify(cookie)} } },
      (res) => { let t = ''; res.on('data', (s) => { t += s; }).on('end', () => console.log(res.statusCode, t)); }).on('error', (e) => console.log(e.code)).end();`;
  return spawnSync(process.execPath, ['-e', program], { uid, gid: uid, cwd: '/', encoding: 'utf8', timeout: 20_000 }).stdout;
}

test('another user of this host gets nothing, over loopback with the right cookie too', { skip: process.getuid() !== 0 && 'only root can be another user' }, () => {
  const { to, host } = here();
  const got = another(to, host, '/now', 65534);
  assert.match(got, /^403 /);
  assert.doesNotMatch(got, /builder/);
  assert.match(another(to, host, '/now', 0), /^200 [\s\S]*builder/);
});

test('another user of this host gets nothing by the unix socket', { skip: process.getuid() !== 0 && 'only root can be another user' }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tipstaff-sock-'));
  const path = join(dir, 'console.sock');
  const over = new Console(life.at, ['--listen', `unix:${path}`]);
  try {
    const address = await over.address();
    const host = address.host;
    chmodSync(dir, 0o755);
    assert.match(another({ socketPath: path }, host, '/', 65534), /^EACCES/, 'the socket is for its owner');
    chmodSync(path, 0o777); // as if somebody had opened it
    const got = another({ socketPath: path }, host, address.pathname + address.search, 65534);
    assert.match(got, /^403 /);
    assert.doesNotMatch(got, /You are in/);
    const entered = await ask({ socketPath: path }, address.pathname + address.search, { host });
    assert.equal(entered.status, 200, 'control: the owner comes in, by the address that was tried before');
    assert.ok(entered.headers['set-cookie']);
  } finally {
    await over.end();
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a command of an agent gets nothing, with the right cookie too', async () => {
  const { to, host } = here();
  life.at.file('look.py', `
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", ${to.port})
c.request("GET", "/now", headers={"Host": "${host}", "Cookie": "${cookie}", "Accept": "text/html"})
r = c.getresponse()
print(r.status, r.read().decode())
`);
  const r = await life.server.call('execute_process', { file: 'python3', args: ['look.py'] });
  assert.doesNotMatch(r.content[0].text, /builder/);
  assert.match(r.content[0].text, /403|Errno|refused|unreachable/i);
  const control = spawnSync('python3', [join(life.at.workspace, 'look.py')], { encoding: 'utf8', timeout: 20_000 });
  assert.match(control.stdout, /^200 [\s\S]*builder/, control.stderr);
});
