// A server over HTTP, which runs apart from its clients. Over standard input and
// output a client starts its server itself.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';

import { until } from './processes.mjs';

export class Daemon {
  token = `tps_${randomBytes(32).toString('hex')}`;
  #said = '';

  constructor({ command, args, cwd, env }) {
    this.process = spawn(command, [...args, '--http', '127.0.0.1:0'], { cwd, env: { ...env, TIPSTAFF_TOKEN: this.token }, stdio: ['ignore', 'ignore', 'pipe'] });
    this.pid = this.process.pid;
    this.stderr = this.process.stderr.setEncoding('utf8');
    this.stderr.on('data', (chunk) => { this.#said += chunk; });
    this.exit = new Promise((resolve) => this.process.once('exit', (code, signal) => resolve(signal ?? code)));
  }

  // listening waits until it listens, and notes where.
  async listening() {
    this.url = await until(() => `it does not listen: ${this.#said}`, () => {
      if (this.process.exitCode !== null) throw new Error(`it ended: ${this.#said}`);
      const address = /"serving MCP over HTTP","address":"([^"]+)"/.exec(this.#said)?.[1];
      return address && `http://${address}/mcp`;
    });
    return this;
  }

  // end asks it to end, as a supervisor does, and expects that it does so in time.
  async end() {
    this.process.kill('SIGTERM');
    const late = setTimeout(() => this.process.kill('SIGKILL'), 5000);
    const how = await this.exit;
    clearTimeout(late);
    assert.equal(how, 0, `the server ended with ${how}: ${this.#said}`);
  }
}
