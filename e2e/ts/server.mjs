// Runs the built binary below a client and ends it again.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { build } from './build.mjs';
import { clients, transports } from './clients.mjs';
import { Daemon } from './daemon.mjs';
import { marked, until } from './processes.mjs';
import { Reply } from './reply.mjs';

let binary = process.env.TIPSTAFF_BIN;

// leaveToPeople is a policy that leaves to people whatever has the word
// "needs-a-person" among its arguments.
export const leaveToPeople = `version: 1
commands:
  "*":
    allow: ["*"]
    ask: [{rule: needs-a-person, id: people, why: The test wants a person for this.}]
`;

// row declares the test of a row of the contract, once for each client over each
// transport. Its body gets a function that starts a server for it.
export function row(name, body, only = clients, over = transports) {
  for (const transport of over) {
    for (const client of only) {
      test(`${name} (${client.name}, ${transport})`, { timeout: 60_000 }, (t) => body((setup) => start(t, client, transport, setup), client, transport, t));
    }
  }
}

// start runs a server in a workspace of its own. setup may hold env, files of
// the workspace (name: content), allow (what the terminal family may run), policy (a file's content),
// options of the client, prior (what the client knows of the server), and the way
// that it goes to a server over HTTP.
async function start(t, client, transport, setup = {}) {
  const place = prepare(t, setup);
  const daemon = transport === 'HTTP' ? await listen(t, place) : undefined;
  const to = await setup.way?.(daemon) ?? daemon ?? place.parameters;
  const server = new Server(place, client.make(to, setup.options), daemon);
  if (setup.person) client.answers(server.client, setup.person);
  finallyDo(t, () => server.close());
  await server.connection.connect({ prior: setup.prior });
  server.pid ??= server.connection.transport.pid;
  server.tools = (await server.client.listTools()).tools;
  return server;
}

// listen runs a server that any client may come to.
export function listen(t, place) {
  const daemon = new Daemon(place.parameters);
  finallyDo(t, () => daemon.process.kill('SIGKILL')); // if it still lives
  return daemon.listening();
}

const undo = new WeakMap();

// finallyDo has something done when the test is over: the last thing first, and
// all of it even if some of it fails. Hooks of the runner do neither.
export function finallyDo(t, step) {
  if (!undo.has(t)) {
    undo.set(t, []);
    t.after(async () => {
      const faults = [];
      for (const last of undo.get(t).reverse()) await Promise.resolve().then(last).catch((err) => faults.push(err));
      if (faults.length) throw faults[0];
    });
  }
  undo.get(t).push(step);
}

let places = 0;

// prepare makes directories and the parameters to start a server with.
export function prepare(t, { env = {}, files = {}, policy, allow = ['echo', 'cat', 'node', 'sleep', 'sh', 'git', 'npm'] } = {}) {
  binary ??= build();
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'tipstaff-ts-')));
  finallyDo(t, () => rmSync(dir, { recursive: true, force: true }));
  const place = { dir, workspace: join(dir, 'workspace'), state: join(dir, 'state'), mark: `E2E_RUN=${process.pid}.${places++}` };
  for (const name of ['workspace', 'state', 'bin', 'home']) mkdirSync(join(dir, name));
  symlinkSync(process.execPath, join(dir, 'bin', 'node'));
  writeFileSync(join(dir, 'tools-allow.json'), JSON.stringify(allow));
  for (const [name, content] of Object.entries({ ...programs, ...files })) {
    mkdirSync(dirname(join(place.workspace, name)), { recursive: true });
    writeFileSync(join(place.workspace, name), content);
  }
  if (policy) {
    writeFileSync(join(dir, 'policy.yaml'), policy);
    env = { TIPSTAFF_CONFIG: join(dir, 'policy.yaml'), ...env };
  }
  place.parameters = {
    command: binary,
    args: ['serve'],
    cwd: place.workspace,
    stderr: 'pipe',
    // The clients add their own HOME, PATH and so on to what is missing here.
    env: {
      PATH: `${join(dir, 'bin')}:/usr/local/bin:/usr/bin:/bin`,
      HOME: join(dir, 'home'), LANG: 'C.UTF-8', LOGNAME: 'e2e', USER: 'e2e', SHELL: '/bin/sh', TERM: 'dumb',
      E2E_RUN: place.mark.split('=')[1],
      ALLOWED_COMMANDS: 'echo,cat,node,sleep,sh,true,false,printf',
      ENABLE_TERMINAL_ACCESS: 'true',
      TERMINAL_ALLOWLIST_PATH: join(dir, 'tools-allow.json'),
      TIPSTAFF_STATE_DIR: place.state,
      ...env,
    },
  };
  return place;
}

// programs are in every workspace.
const programs = {
  'argv.cjs': 'process.stdout.write(JSON.stringify(process.argv.slice(2)))',
  'exit.cjs': 'process.exitCode = Number(process.argv[2])',
  'kill.cjs': 'process.kill(process.pid, process.argv[2])',
};

// Server is a running tipstaff with its client.
class Server {
  stderr = '';

  constructor(place, connection, daemon) {
    this.daemon = daemon;
    this.pid = daemon?.pid;
    this.place = place;
    this.workspace = place.workspace;
    this.connection = connection;
    this.client = connection.client;
    (daemon ?? connection.transport).stderr.on('data', (chunk) => { this.stderr += chunk; });
  }

  // call calls a tool. It rejects when the protocol does.
  async call(name, args, options) {
    if (options?.signal || options?.timeout) this.gaveUp = true; // or may
    const result = await this.connection.call({ name, arguments: args }, options);
    return new Reply(result, this.tools.find((tool) => tool.name === name), this.connection.validator);
  }

  command(line, more, options) { return this.call('execute_command', { command: line, ...more }, options); }
  process(file, args, more, options) { return this.call('execute_process', { file, args, ...more }, options); }

  // session opens a terminal session and gives its id.
  async session(more) {
    const answer = (await this.call('terminal_create_session', { taskId: 'T-1', agentId: 'agent', ...more })).json();
    assert.equal(answer.success, true);
    return answer.sessionId;
  }

  inSession(sessionId, command, args, more, options) {
    return this.call('terminal_execute_command', { sessionId, command, args, ...more }, options);
  }

  async status(sessionId) { return (await this.call('terminal_get_status', { sessionId })).json().session; }

  // commands are the living processes that the server has started. The server's
  // zygotes share its memory, its environment and command line included.
  commands() {
    return marked(this.place.mark).filter((p) => p.pid !== this.pid && !/\/tipstaff serve( --http \S+)?$/.test(p.command));
  }

  // running waits until that many processes are alive.
  running(n) { return until(() => `${n} processes never ran, but ${said(this.commands())}`, () => this.commands().length === n); }

  // ended waits until none is, for two seconds at most (contract T4).
  ended() { return until(() => `still alive: ${said(this.commands())}`, () => this.commands().length === 0, 2000); }

  // leave closes the client. Over HTTP some take their own hanging up for a fault.
  leave() {
    if (this.daemon) this.client.onerror = undefined;
    return this.client.close();
  }

  // close ends the server as a client does, and checks what must hold then.
  async close() {
    if (this.closed) return;
    this.closed = true;
    await this.leave();
    await this.daemon?.end();
    const left = marked(this.place.mark);
    for (const { pid } of left) kill(pid);
    assert.deepEqual(left, [], 'processes outlived the server');
    if (this.pid === undefined) return; // it never came to anything
    // A client that waits in vain sends a signal, which would be the reason then.
    const { event, why } = this.records().at(-1);
    assert.deepEqual([event, why], ['server.stop', this.daemon ? 'terminated' : 'client closed its end']);
    // Contract T4: over HTTP the answer to a call that was given up is there when the
    // client comes back, which it does after a second.
    const late = this.daemon && this.gaveUp ? /^Received a response for an unknown message ID/ : /^(?!)/;
    assert.deepEqual(this.connection.faults.filter((err) => !late.test(err.message)), [], 'the client saw what it could not make sense of');
    for (const line of this.stderr.split('\n').filter(Boolean)) {
      assert.doesNotThrow(() => JSON.parse(line), `standard error has a line that is not structured: ${line}`);
    }
  }

  // records is the trail of this server, and not of one that a client started
  // only to ask what it speaks.
  records() {
    const found = readdirSync(this.place.state, { recursive: true }).filter((f) => f.includes(`-${this.pid}-`) && f.endsWith('.jsonl'));
    return found.flatMap((f) => readFileSync(join(this.place.state, f), 'utf8').trim().split('\n').map((line) => JSON.parse(line)));
  }
}

const said = (list) => list.map((p) => `${p.pid} ${p.command}`).join('; ') || 'none';

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone meanwhile.
  }
}
