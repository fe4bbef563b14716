// A running `tipstaff console`, and a server beside it whose trail has life in it.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { visitor } from './browser.mjs';
import { binary, place, Server } from './server.mjs';

// Console is a console for the servers of one place. Its standard input is a pipe:
// each address is printed once.
export class Console {
  lines = [];
  stderr = '';

  constructor(at, args = ['--listen', '127.0.0.1:0'], env = {}) {
    this.process = spawn(binary, ['console', ...args], { cwd: at.workspace, env: { ...at.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    this.process.stderr.setEncoding('utf8').on('data', (s) => { this.stderr += s; });
    this.exit = new Promise((resolve) => this.process.once('exit', resolve));
    const first = new Promise((resolve) => createInterface({ input: this.process.stdout }).on('line', (line) => { this.lines.push(line); resolve(); }));
    this.ready = Promise.race([first, this.exit.then(() => { throw new Error(`the console has ended: ${this.stderr}`); })]);
  }

  // address is the one-time address, which lets one browser in.
  async address() {
    await this.ready;
    return new URL(this.lines.at(-1));
  }

  // enter opens a browser of its own that has come in, and gives its page.
  async enter(with_) {
    const address = await this.address();
    const v = await visitor(with_);
    await v.page.goto(String(address));
    await v.page.waitForURL((url) => url.pathname !== '/enter');
    return { ...v, origin: address.origin, go: (path) => v.page.goto(address.origin + path) };
  }

  async end() {
    this.process.kill('SIGTERM');
    const late = setTimeout(() => this.process.kill('SIGKILL'), 5000);
    await this.exit;
    clearTimeout(late);
  }
}

// policy leaves to people what has the word needs-a-person, and denies what has
// the word never.
export const policy = `version: 1
shell: write
commands:
  "*":
    allow: ["*"]
    ask: [{rule: needs-a-person, id: people, why: The test wants a person for this.}]
    deny: [{rule: never, id: never, why: The test wants it refused.}]
`;

// hostile is a name that would be more than a text where pages are not careful.
export const hostile = '<img src=x onerror=document.title=1>"\'&{{.}}\u202Egpj.exe';

// alive makes a place, a server in it that has done all kinds of things, with some
// still running and one that waits for a person, and a console.
export async function alive({ client = hostile, word = hostile, long = 'x'.repeat(900) } = {}) {
  const at = place(policy);
  const server = await new Server(at, { TIPSTAFF_RECORDINGS: 'true' }).begin(client, { elicitation: {} });
  const session = await server.session('builder', 'issue-22');
  const other = await server.session('reviewer', 'PR-7');
  const run = (sessionId, command, args, more) => server.call('terminal_execute_command', { sessionId, command, args, ...more });
  await run(session, 'echo', ['a', 'word with blanks']);
  await run(session, 'false', []);
  await run(session, 'echo', ['never']);
  await run(session, 'sleep', ['5'], { timeout: 100 });
  await run(session, 'echo', [long]);
  await run(other, 'echo', [word]);
  await server.call('execute_shell', { script: 'for i in 1 2 3; do echo $i | cat; done' });
  const running = [];
  at.file('build.sh', 'echo begun; while :; do echo tick; sleep 1; done\n');
  at.file('שלום-עולם.sh', `printf '%s\\n' '${word.replaceAll("'", '')}'; exec sleep 600\n`);
  for (const [sessionId, file] of [[session, 'build.sh'], [other, 'שלום-עולם.sh']]) {
    const r = await run(sessionId, 'sh', [file], { background: true });
    if (!r.structuredContent.commandId) throw new Error(`it does not run: ${r.content[0].text}`);
    running.push(r.structuredContent.commandId);
  }
  const waits = run(session, 'echo', ['needs-a-person', 'to be run']);
  waits.catch(() => {});
  const console_ = new Console(at);
  await console_.ready;
  return {
    at, server, session, other, running, waits, console: console_,
    async end() {
      await console_.end();
      await server.end();
      at.remove();
    },
  };
}
