// npm test: builds the program and starts the browser once, and runs every file of
// tests with them. Arguments are handed on: `npm test -- app.test.mjs` runs one file.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';

import { chromium } from 'playwright-core';

import { build } from '../ts/build.mjs';
import { options } from './browser.mjs';

const here = new URL('.', import.meta.url);
const given = process.argv.slice(2);
const files = given.some((a) => a.endsWith('.mjs')) ? [] : readdirSync(here).filter((f) => f.endsWith('.test.mjs')).sort();

const binary = process.env.TIPSTAFF_BIN || build();
const browser = await chromium.launchServer(options());
const tests = spawn(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=2', '--test-timeout=400000', ...given, ...files], {
  cwd: here,
  stdio: 'inherit',
  env: { ...process.env, TIPSTAFF_BIN: binary, BROWSER_AT: browser.wsEndpoint() },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
const code = await new Promise((resolve) => tests.on('exit', resolve));
await browser.close();
process.exitCode = code ?? 1;
