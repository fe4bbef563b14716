// npm test: builds the program and starts the browser once, and runs every file of
// tests with them. Arguments are handed on: `npm test -- app.test.mjs` runs one file.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';

import { chromium } from 'playwright-core';

import { build } from '../ts/build.mjs';
import { marked } from '../ts/processes.mjs';
import { options } from './browser.mjs';

const here = new URL('.', import.meta.url);
const given = process.argv.slice(2);
const files = given.some((a) => a.endsWith('.mjs')) ? [] : readdirSync(here).filter((f) => f.endsWith('.test.mjs')).sort();

const binary = process.env.TIPSTAFF_BIN || build('-tags', 'embednats'); // with a NATS server in it, for the fleet
const mark = `browser.${process.pid}`;
const browser = await chromium.launchServer(options());
const tests = spawn(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=2', '--test-timeout=400000', ...given, ...files], {
  cwd: here,
  stdio: 'inherit',
  env: { ...process.env, TIPSTAFF_BIN: binary, BROWSER_AT: browser.wsEndpoint(), E2E_RUN: mark },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
const code = await new Promise((resolve) => tests.on('exit', resolve));
await browser.close();
const left = marked(`E2E_RUN=${mark}`); // of tests that were ended
for (const { pid, command } of left) {
  console.error(`still there: ${pid} ${command}`);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone meanwhile.
  }
}
process.exitCode = left.length ? 1 : code ?? 1;
