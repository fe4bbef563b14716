// Builds and runs what is judged. Everything listens on the loopback interface,
// on ports that were free, and ends with this process by its id.

import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const module = fileURLToPath(new URL('../..', import.meta.url));

// dir is a directory that goes with this process.
export const dir = realpathSync(mkdtempSync(join(tmpdir(), 'tipstaff-conformance-')));
const children = new Set();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

// build gives the path of a program of this module.
export function build(name, from) {
  const path = join(dir, name);
  execFileSync('go', ['build', '-o', path, from], { cwd: module, stdio: 'inherit', timeout: 300_000 });
  return path;
}

let places = 0;

// place makes a workspace, and the environment of a server that works there.
export function place() {
  const root = join(dir, `${places++}`);
  for (const name of ['workspace', 'state', 'home']) mkdirSync(join(root, name), { recursive: true });
  return {
    cwd: join(root, 'workspace'),
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', HOME: join(root, 'home'),
      ALLOWED_COMMANDS: 'echo', TIPSTAFF_STATE_DIR: join(root, 'state'),
    },
  };
}

// serve starts a server over HTTP and waits until it listens. It gives
// { address, token, close }.
export async function serve(program, args) {
  const { cwd, env } = place();
  const token = `tps_${randomBytes(32).toString('hex')}`;
  const child = spawn(program, args, { cwd, env: { ...env, TIPSTAFF_TOKEN: token }, stdio: ['ignore', 'ignore', 'pipe'] });
  children.add(child);
  const exit = new Promise((resolve) => child.once('exit', (code, signal) => { children.delete(child); resolve(signal ?? code); }));
  const log = [];
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      const said = JSON.parse(line);
      if (said.msg === 'serving MCP over HTTP') resolve(said.address);
    });
    exit.then((how) => reject(new Error(`${program} ended with ${how} before it listened:\n${log.join('\n')}`)));
  });
  return {
    address, token,
    async close() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      const how = await exit;
      clearTimeout(late);
      if (how !== 0) throw new Error(`${program} ended with ${how}:\n${log.join('\n')}`);
    },
  };
}

// run runs a program to its end and gives { code, stdout, stderr }.
export async function run(file, args, options = {}) {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000, ...options });
  children.add(child);
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (chunk) => { out[name] += chunk; });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, signal) => resolve(exit ?? signal));
  });
  children.delete(child);
  return { code, ...out };
}
