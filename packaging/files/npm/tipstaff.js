#!/usr/bin/env node
// Starts the binary of this platform with the same arguments and streams, and ends
// as it ends. npm installs the binary as a package of its own.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const name = `@tipstaff/${process.platform}-${process.arch}`;
const file = process.platform === 'win32' ? 'tipstaff.exe' : 'tipstaff';
let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(`tipstaff: the package ${name}, which holds the program for this system, is not installed.
If npm was told to leave out optional dependencies, install it by name; if there is none for this system, see https://www.npmjs.com/package/tipstaff for those that there are.`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (err) => {
  console.error(`tipstaff: ${program} cannot be started: ${err.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
