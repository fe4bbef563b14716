// execute_command and execute_process.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { row } from './server.mjs';

row('A1 a command line runs without a shell', async (start) => {
  const s = await start();
  const r = await s.command('echo hello');
  assert.deepEqual(r.ran(), { exit_code: 0, stdout: 'hello\n', stderr: '' });
  assert.equal(r.structured, undefined);
  assert.equal((await s.command("echo '$HOME; ls' *.none")).ran().stdout, '$HOME; ls *.none\n');
});

row('A4 a timeout that is no positive whole number is an error and nothing runs', async (start) => {
  const s = await start();
  for (const timeout_ms of [0, -1, 1.5, '500', true, [1]]) {
    (await s.command('echo x', { timeout_ms })).refused('timeout_ms');
    (await s.process('echo', ['x'], { timeout_ms })).refused('timeout_ms');
  }
  assert.deepEqual(s.records().filter((r) => r.event === 'command.start'), []);
  (await s.command('echo x', { timeout_ms: 60_000 })).ran();
});

row('A5 a timeout answers in time with what was captured, and ends the tree', async (start) => {
  const s = await start();
  const began = performance.now();
  const r = await s.process('sh', ['-c', 'echo out; echo err >&2; sleep 60 & sleep 60'], { timeout_ms: 1000 });
  const took = performance.now() - began;
  assert.ok(took >= 1000 && took < 2000, `it took ${took} ms`);
  assert.equal(r.isError, true);
  const { error, hint, ...body } = r.yaml();
  assert.deepEqual(body, { exit_code: 124, stdout: 'out\n', stderr: 'err\n' });
  assert.match(error, /^Timed out after 1000ms\b/);
  assert.equal(typeof hint, 'string');
  await s.ended();
});

row('A4 without a timeout the default holds', async (start) => {
  const s = await start({ env: { TIPSTAFF_DEFAULT_TIMEOUT: '400' } });
  (await s.command('sleep 60')).refused('exit_code: 124', 'Timed out after 400ms');
});

row('A7 a refusal says what is allowed and suggests the nearest', async (start) => {
  const s = await start({ env: { ALLOWED_COMMANDS: 'git,ls,python3' } });
  (await s.command('pwd')).refused('Command "pwd" is not allowed', 'git, ls, python3');
  (await s.process('pwd', [])).refused('Command "pwd" is not allowed', 'git, ls, python3');
  (await s.command('gti status')).refused('Command "gti" is not allowed', 'Did you mean "git"?');
  const many = await start({ env: { ALLOWED_COMMANDS: Array.from({ length: 40 }, (_, i) => `tool${i}`).join() } });
  const r = await many.command('pwd');
  r.refused('tool19', '20 more');
  assert.ok(!r.text.includes('tool20'), r.text);
});

row('A11 arguments reach the program byte for byte', async (start) => {
  const s = await start();
  const args = [
    '', ' ', 'a b', '$HOME', '${x}', '$(id)', '`id`', '; rm -rf /', '|', '>', '&&', '*', '~', "'", '"', '\\', '\\n', '\n', '\r\n', '\t', '\x01\x1b\x7f',
    'é', 'e\u0301', '日本', '😀', '👩‍💻', '\u202e', '\u2028', '\ufeff', '\ufffd', '-n', '--', '--help', '#', '!x', '%s', '{"a":[1]}', 'x'.repeat(100_000),
  ];
  const got = JSON.parse((await s.process('node', ['argv.cjs', ...args], { raw: true })).ran().stdout);
  assert.deepEqual(got, args);
  const many = Array.from({ length: 4000 }, (_, i) => `${i}`);
  assert.deepEqual(JSON.parse((await s.process('node', ['argv.cjs', ...many])).ran().stdout), many);
  assert.equal((await s.call('execute_process', { file: 'true' })).ran().stdout, '');
  (await s.process('node', ['argv.cjs', 'a\0b'])).refused('NUL');
});

row('A12 input is written and then closed', async (start) => {
  const s = await start();
  assert.equal((await s.command('cat', { input: 'a\nb' })).ran().stdout, 'a\nb');
  assert.equal((await s.process('cat', [], { input: '' })).ran().stdout, '');
  assert.equal((await s.command('cat')).ran().stdout, '', 'without input there is none');
  const big = 'é😀0123456789\n'.repeat(20_000);
  assert.equal((await s.process('cat', [], { input: big, raw: true })).ran().stdout, big);
  (await s.process('true', [], { input: big })).ran(); // never reads it
});

row('A13 death by a signal has its name and 128 more than its number', async (start) => {
  const s = await start();
  for (const [signal, exit_code] of [['SIGKILL', 137], ['SIGSEGV', 139], ['SIGTERM', 143]]) {
    const r = await s.process('node', ['kill.cjs', signal]);
    assert.equal(r.isError, false, r.text);
    const body = r.yaml();
    assert.deepEqual([body.exit_code, body.signal], [exit_code, signal]);
  }
  const failed = await s.process('node', ['exit.cjs', '3']);
  assert.equal(failed.isError, false, 'a failure of the program is none of the tool');
  assert.deepEqual(failed.yaml(), { exit_code: 3, stdout: '', stderr: '' });
});

row('A13 a program that cannot be started has the exit code of a shell', async (start) => {
  const s = await start({ env: { ALLOWED_COMMANDS: 'no-such-program,./plain' } });
  writeFileSync(join(s.workspace, 'plain'), 'echo hi', { mode: 0o644 });
  for (const [file, exit_code] of [['no-such-program', 127], ['./plain', 126]]) {
    const r = await s.process(file, []);
    assert.equal(r.isError, true, r.text);
    const body = r.yaml();
    assert.equal(body.exit_code, exit_code);
    assert.ok(body.error && body.hint, r.text);
  }
});
