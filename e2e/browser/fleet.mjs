// A fleet of this machine: a NATS server of the program's own (built with -tags
// embednats), a gateway, two runners, and the keys of an operator and an auditor.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { Console } from './console.mjs';
import { binary, place } from './server.mjs';

const token = 'e2e-browser-fleet-0f1e2d3c4b5a6978';

// free returns a port that nothing listens at.
const free = () => new Promise((resolve) => {
  const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => resolve(port)); });
});

// begun starts a process of the program, and returns when its log says that it is ready.
function begun(at, args, env, ready) {
  const p = spawn(binary, args, { cwd: at.workspace, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const exit = new Promise((resolve) => p.once('exit', resolve));
  const is = new Promise((resolve, reject) => {
    p.stderr.setEncoding('utf8').on('data', (s) => { log += s; const found = ready.exec(log); if (found) resolve(found); });
    exit.then(() => reject(new Error(`${args[0]} has ended: ${log}`)));
  });
  is.catch(() => {});
  return { is, async end() {
    p.kill('SIGTERM');
    const late = setTimeout(() => p.kill('SIGKILL'), 5000);
    await exit;
    clearTimeout(late);
  } };
}

// Fleet is one that runs.
export class Fleet {
  parts = [];

  async begin(policy) {
    this.at = place(policy);
    const { at } = this;
    const file = (name) => join(at.dir, name);
    const key = (name) => execFileSync(binary, ['engine', 'key', file(name)], { env: at.env, encoding: 'utf8' }).trim();
    const port = await free();
    const members = [['g1', '--gateway'], ['r1', '--runner'], ['r2', '--runner'], ['ops', '--operator'], ['auditor', '--auditor']].flatMap(([name, flag]) => [flag, `${name}=${key(`${name}.nk`)}`]);
    writeFileSync(file('gateways'), `${key('g1.key')} g1\n`);
    writeFileSync(file('operators'), `${key('ops.key')} ops\n`);
    writeFileSync(file('seal'), 's'.repeat(32), { mode: 0o600 });
    writeFileSync(file('nats.conf'), execFileSync(binary, ['engine', 'config', '--listen', `127.0.0.1:${port}`, '--store', file('nats'), ...members], { env: at.env, encoding: 'utf8' }));
    const nats = begun(at, ['engine', '--file', file('nats.conf')], at.env, /ready/);
    this.parts.push(nats);
    await nats.is;
    const env = (name, more) => {
      const state = file(`state-${name}`);
      mkdirSync(state, { recursive: true });
      return { ...at.env, TIPSTAFF_STATE_DIR: state, TIPSTAFF_ENGINE: `nats://127.0.0.1:${port}`, TIPSTAFF_ENGINE_CREDENTIALS: file(`${name}.nk`), TIPSTAFF_ENGINE_SEAL: file('seal'), TIPSTAFF_ENGINE_OPERATORS: file('operators'), ...more };
    };
    const runners = ['r1', 'r2'].map((name) => begun(at, ['runner'], env(name, { TIPSTAFF_RUNNER_NAME: name, TIPSTAFF_ENGINE_GATEWAYS: file('gateways'), TIPSTAFF_RECORDINGS: 'true', TIPSTAFF_RUNNER_DRAIN: '1000' }), /this runner takes commands/));
    this.parts.push(...runners);
    await Promise.all(runners.map((r) => r.is));
    const gateway = begun(at, ['serve', '--http', '127.0.0.1:0'], env('g1', { TIPSTAFF_GATEWAY_NAME: 'g1', TIPSTAFF_ENGINE_KEY: file('g1.key'), TIPSTAFF_TOKEN: token }), /serving MCP over HTTP.*?"address":"([^"]+)"/);
    this.parts.push(gateway);
    this.url = `http://${(await gateway.is)[1]}/mcp`;
    this.console = new Console(at, undefined, env('ops', { TIPSTAFF_ENGINE_ROLES: 'operator', TIPSTAFF_OPERATOR_NAME: 'ops', TIPSTAFF_ENGINE_KEY: file('ops.key'), TIPSTAFF_ENGINE_AUDITOR: file('auditor.nk') }));
    await this.console.ready;
    return this;
  }

  // call makes one call at the gateway, and gives its text.
  async call(name, args) {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'e2e-browser', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } } }),
    });
    const text = await response.text();
    const line = text.split('\n').find((l) => l.startsWith('data:'))?.slice(5) ?? text;
    const m = JSON.parse(line);
    if (!m.result) throw new Error(`${response.status} ${text}`);
    return m.result;
  }

  async end() {
    await this.console?.end();
    for (const p of this.parts.reverse()) await p.end();
    this.at.remove();
  }
}

// sessions opens sessions until each runner has one: a gateway knows of a runner when its
// lease has come, and refuses or takes the other one before.
async function sessions(fleet) {
  const has = (name) => readdirSync(join(fleet.at.dir, `state-${name}`), { recursive: true })
    .some((f) => f.endsWith('.jsonl') && readFileSync(join(fleet.at.dir, `state-${name}`, f), 'utf8').includes('"session.create"'));
  const all = [];
  for (const limit = Date.now() + 60_000; all.length < 4 || !has('r1') || !has('r2');) {
    if (Date.now() > limit) throw new Error(`${all.length} sessions, and a runner has none`);
    const i = all.length;
    const { sessionId } = (await fleet.call('terminal_create_session', { agentId: i % 2 ? 'reviewer' : 'builder', taskId: `issue-${i}` })).structuredContent;
    if (sessionId) all.push(sessionId);
    if (!sessionId || all.length > 4) await new Promise((r) => setTimeout(r, 500));
  }
  return all;
}

// busy makes agents work in sessions and without, so that every member has records.
export async function busy(fleet, n = 24) {
  const session = await sessions(fleet);
  for (let i = 0; i < n; i++) {
    await fleet.call('terminal_execute_command', { sessionId: session[i % session.length], command: ['echo', 'true', 'seq', 'false'][i % 4], args: [['tests', 'passed'], [], ['1', '9'], []][i % 4] });
    if (i % 6 === 0) await fleet.call('execute_process', { file: 'echo', args: ['without a session', String(i)] });
  }
}
