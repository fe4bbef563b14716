// terminal_*: sessions and their commands. Each answer is read with json() or
// code(), which check that text and structure agree and that the client
// validated the structure against the declared schema.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { until } from './processes.mjs';
import { row } from './server.mjs';

row('B1-B6 a session from its creation to its end', async (start) => {
  const s = await start();
  const before = Date.now();
  const created = (await s.call('terminal_create_session', { taskId: 'BUILD-001', agentId: 'build.agent:1' })).json();
  const { sessionId, createdAt } = created;
  assert.deepEqual(created, { success: true, sessionId, workingDirectory: s.workspace, createdAt });
  const [, epoch] = /^term-BUILD-001-(\d{13})-[A-Z2-7]{20,}$/.exec(sessionId);
  assert.ok(epoch >= before && epoch <= Date.now(), epoch);
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  assert.ok(Math.abs(Date.parse(createdAt) - epoch) < 1000, createdAt);

  const fresh = { id: sessionId, taskId: 'BUILD-001', agentId: 'build.agent:1', workingDirectory: s.workspace, state: 'idle', createdAt, commandCount: 0 };
  assert.deepEqual(await s.status(sessionId), fresh);

  const ok = await s.inSession(sessionId, 'echo', ['hello']);
  assert.equal(ok.isError, false);
  const { duration, ...answer } = ok.json();
  assert.deepEqual(answer, { success: true, exitCode: 0, stdout: 'hello\n', stderr: '', truncated: false });
  assert.ok(Number.isInteger(duration) && duration >= 0 && duration < 10_000, `${duration}`);
  const { lastCommandAt, commands: [last, ...none], ...completed } = await s.status(sessionId);
  assert.deepEqual([last.command, last.state, last.exitCode, last.bytes, none], ['echo hello', 'exited', 0, 6, []]);
  assert.deepEqual(completed, { ...fresh, state: 'completed', commandCount: 1 });
  assert.ok(Date.parse(lastCommandAt) >= Date.parse(createdAt), lastCommandAt);

  const failed = await s.inSession(sessionId, 'node', ['exit.cjs', '3']);
  assert.equal(failed.isError, false, 'a failure of the program is none of the tool');
  assert.deepEqual([failed.json().success, failed.json().exitCode], [false, 3]);
  assert.deepEqual((await s.status(sessionId)).state, 'failed');

  const killed = (await s.inSession(sessionId, 'node', ['kill.cjs', 'SIGKILL'])).json();
  assert.deepEqual([killed.success, killed.exitCode, killed.signal], [false, 137, 'SIGKILL']);

  (await s.inSession(sessionId, 'rm', ['x'])).code('COMMAND_NOT_ALLOWED');
  (await s.inSession(sessionId, 'echo', ['$(id)'])).code('UNSAFE_ARGUMENTS');
  const refused = await s.status(sessionId);
  assert.deepEqual([refused.state, refused.commandCount], ['failed', 3], 'a refusal changes neither state nor count');

  const closed = (await s.call('terminal_close_session', { sessionId })).json();
  assert.deepEqual(closed, { success: true, message: 'Session closed and resources freed', sessionId });
  for (const tool of ['terminal_close_session', 'terminal_get_status']) {
    (await s.call(tool, { sessionId })).code('SESSION_NOT_FOUND');
  }
  (await s.inSession(sessionId, 'echo', ['x'])).code('SESSION_NOT_FOUND');
});

row('B2 the working directory is checked and shown canonical', async (start) => {
  const s = await start({ files: { 'sub/file': '' } });
  symlinkSync('sub', join(s.workspace, 'link'));
  const create = (workingDirectory) => s.call('terminal_create_session', { taskId: 't', agentId: 'a', workingDirectory });
  const { sessionId, workingDirectory } = (await create('link')).json();
  assert.equal(workingDirectory, join(s.workspace, 'sub'));
  assert.equal((await s.inSession(sessionId, 'node', ['-p', 'process.cwd()'])).json().stdout, `${workingDirectory}\n`);
  for (const wrong of ['nowhere', '', 'sub/file']) (await create(wrong)).code('INVALID_PARAMETERS', 'workingDirectory');
});

row('B4 a timeout is an error with what was captured so far', async (start) => {
  const s = await start({ env: { TERMINAL_MAX_TIMEOUT: '5000' }, files: { 'slow.sh': 'printf "so far"; printf oh >&2; sleep 60 & sleep 60' } });
  const id = await s.session();
  for (const timeout of [0, -1, 1.5, 5001, '500', true]) {
    (await s.inSession(id, 'echo', ['x'], { timeout })).code('INVALID_PARAMETERS', 'timeout');
  }
  const r = await s.inSession(id, 'sh', ['slow.sh'], { timeout: 1000 });
  const body = r.code('TIMEOUT_EXCEEDED', '1000ms');
  assert.deepEqual([body.exitCode, body.stdout, body.stderr, body.truncated], [124, 'so far', 'oh', false]);
  assert.ok(body.duration >= 1000 && body.duration < 2000, `${body.duration}`);
  assert.equal((await s.status(id)).state, 'failed');
  await s.ended();
});

row('B5 a session is running while its command runs', async (start) => {
  const s = await start();
  const id = await s.session();
  const command = s.inSession(id, 'sleep', ['60']);
  const status = await until('the session was never running', async () => {
    const now = await s.status(id);
    return now.state === 'running' && now;
  });
  assert.equal(status.commandCount, 1);
  await s.call('terminal_close_session', { sessionId: id });
  await command;
});

row('B6 closing a session ends what runs in it and waits in it', async (start) => {
  const s = await start({ files: { 'tree.sh': 'sleep 60 & sleep 60 & wait' } });
  const [id, other] = [await s.session(), await s.session()];
  const commands = [s.inSession(id, 'sh', ['tree.sh'])];
  await s.running(3);
  commands.push(s.inSession(id, 'echo', ['waits']));
  const bystander = s.inSession(other, 'sleep', ['60']);
  await s.running(4);
  const closed = await s.call('terminal_close_session', { sessionId: id });
  assert.equal(closed.json().success, true);
  (await commands[0]).code('EXECUTION_ERROR');
  (await commands[1]).code('SESSION_NOT_FOUND'); // it never started
  await until('its tree is still alive', () => s.commands().length === 1, 2000);
  assert.equal((await s.status(other)).state, 'running', 'another session is not concerned');
  await s.call('terminal_close_session', { sessionId: other });
  await bystander;
});

row('B7 commands of a session run one at a time, in the order in which they came', async (start, _, transport) => {
  const turn = 'const fs = require("fs"); fs.mkdirSync("turn"); fs.appendFileSync("order", process.argv[2]); fs.rmdirSync("turn")';
  const s = await start({ files: { 'turn.cjs': turn } });
  const id = await s.session();
  const answers = await Promise.all([...'abcdefgh'].map((letter) => s.inSession(id, 'node', ['turn.cjs', letter])));
  for (const r of answers) assert.equal(r.json().success, true, r.text); // the directory was there for two
  const order = readFileSync(join(s.workspace, 'order'), 'utf8');
  // Over HTTP each call is a request of its own, and they come as they like.
  if (transport === 'stdio') assert.equal(order, 'abcdefgh');
  else assert.equal([...order].sort().join(''), 'abcdefgh');
});

row('B7 sessions have directories and variables of their own', async (start) => {
  const s = await start();
  const sessions = await Promise.all(['a', 'b'].map(async (name) => {
    mkdirSync(join(s.workspace, name));
    return [name, await s.session({ workingDirectory: name, environment: { WHO: name } })];
  }));
  await Promise.all(sessions.map(async ([name, id]) => {
    const { stdout } = (await s.inSession(id, 'node', ['-p', 'JSON.stringify([process.cwd(), process.env.WHO, process.env.CAWS_SESSION_ID])'])).json();
    assert.deepEqual(JSON.parse(stdout), [join(s.workspace, name), name, id]);
  }));
});

row('B10 arguments that only a shell would understand are UNSAFE_ARGUMENTS', async (start) => {
  const s = await start();
  const id = await s.session();
  for (const [arg, rule] of [
    ['test; rm -rf /', 'chaining'], ['test $(whoami)', 'substitution'], ['test `cat /etc/passwd`', 'substitution'], ['test $PATH/../../../', 'expansion'],
  ]) {
    const body = (await s.inSession(id, 'echo', ['fine', 'also fine', arg])).code('UNSAFE_ARGUMENTS');
    assert.equal(body.details.index, 2, arg);
    assert.equal(body.details.rule, rule, arg);
    assert.ok(body.hint, 'it does not say the way out');
  }
  for (const arg of ['Price: $5.00', '{"a": [1]}', 'https://h.test/?a=1&b=2', 'fix: a & b; c', '>=18 <20', 'R&D']) {
    assert.equal((await s.inSession(id, 'echo', [arg])).json().stdout, `${arg}\n`);
  }
  const message = 'fix: `a` and $(b); c && d';
  assert.equal((await s.inSession(id, 'git', ['commit', '-m', message, '--dry-run'])).json().error, undefined, 'a commit message is free text');
});

row('B11 what a session may not set is dropped and named', async (start) => {
  const s = await start();
  const environment = { CI: 'true', LD_PRELOAD: '/x.so', PATH: '/tmp', NODE_OPTIONS: '--require /x', API_TOKEN: 'x' };
  const created = (await s.call('terminal_create_session', { taskId: 't', agentId: 'a', environment })).json();
  assert.deepEqual(created.droppedEnvironment.sort(), ['API_TOKEN', 'LD_PRELOAD', 'NODE_OPTIONS', 'PATH']);
  const { stdout } = (await s.inSession(created.sessionId, 'node', ['-p', 'JSON.stringify(process.env)'])).json();
  const got = JSON.parse(stdout);
  assert.equal(got.CI, 'true');
  assert.equal(got.PATH, s.place.parameters.env.PATH);
  for (const name of ['LD_PRELOAD', 'NODE_OPTIONS', 'API_TOKEN']) assert.equal(got[name], undefined, name);
});

row('B12 output beyond the bound is cut and said to be', async (start) => {
  const s = await start({ env: { TERMINAL_MAX_OUTPUT_SIZE: '10000' } });
  const id = await s.session();
  const body = (await s.inSession(id, 'node', ['-e', 'process.stdout.write("é".repeat(100000)); process.stderr.write("x".repeat(100000))'])).json();
  assert.deepEqual([body.success, body.truncated], [true, true]);
  assert.ok(Buffer.byteLength(body.stdout) + Buffer.byteLength(body.stderr) <= 10_000);
  assert.ok(body.stderr.length > 1000, 'standard error has its share');
  assert.ok(!body.stdout.includes('\ufffd'), 'it was cut inside a character');
});

row('B13 every code, with what it is about', async (start) => {
  const s = await start({ env: { TERMINAL_MAX_SESSIONS: '1' }, allow: ['npm', 'git', 'echo', 'sleep', 'no-such-program'] });
  const id = await s.session();
  const denied = (await s.inSession(id, 'rm', ['$(x)'])).code('COMMAND_NOT_ALLOWED'); // the command first, then the arguments
  assert.equal(denied.message, "Command 'rm' is not allowed");
  assert.deepEqual(denied.details, { command: 'rm', allowedCommands: ['npm', 'git', 'echo', 'sleep', 'no-such-program'] });
  (await s.inSession(id, 'echo', ['a', '&&', 'b'])).code('UNSAFE_ARGUMENTS');
  (await s.inSession('term-x-0-y', 'echo', [])).code('SESSION_NOT_FOUND');
  (await s.inSession(id, 'sleep', ['60'], { timeout: 300 })).code('TIMEOUT_EXCEEDED', '300ms');
  (await s.inSession(id, 'no-such-program', [])).code('EXECUTION_ERROR', 'no-such-program');
  (await s.call('terminal_create_session', { taskId: 't', agentId: 'a' })).code('MAX_SESSIONS_EXCEEDED', '1');
  for (const [tool, args, field] of [
    ['terminal_create_session', { agentId: 'a' }, 'taskId'],
    ['terminal_create_session', { taskId: 'a b', agentId: 'a' }, 'taskId'],
    ['terminal_create_session', { taskId: 't', agentId: 'x'.repeat(129) }, 'agentId'],
    ['terminal_create_session', { taskId: 't', agentId: 'a', environment: { A: 1 } }, 'environment'],
    ['terminal_execute_command', { command: 'echo' }, 'sessionId'],
    ['terminal_execute_command', { sessionId: id }, 'command'],
    ['terminal_execute_command', { sessionId: id, command: 'echo', args: 'x' }, 'args'],
    ['terminal_get_status', {}, 'sessionId'],
    ['terminal_close_session', { sessionId: 5 }, 'sessionId'],
  ]) {
    (await s.call(tool, args)).code('INVALID_PARAMETERS', `"${field}`);
  }
});
