// npm test: builds the program once and runs every file of tests against it.
// Arguments are handed on, so `npm test -- terminal.test.mjs` runs one file.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';

import { build } from './build.mjs';

const here = new URL('.', import.meta.url);
const given = process.argv.slice(2);
const files = given.some((a) => a.endsWith('.mjs')) ? [] : readdirSync(here).filter((f) => f.endsWith('.test.mjs')).sort();

const tests = spawn(process.execPath, ['--test', '--test-reporter=spec', '--test-timeout=300000', ...given, ...files], {
  cwd: here,
  stdio: 'inherit',
  env: { ...process.env, TIPSTAFF_BIN: process.env.TIPSTAFF_BIN || build() },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
tests.on('exit', (code) => { process.exitCode = code ?? 1; });
