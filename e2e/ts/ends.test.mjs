// T4: what a client gives up or leaves behind is ended, whole trees of it.

import assert from 'node:assert/strict';

import { marked, until } from './processes.mjs';
import { row } from './server.mjs';

// Three processes, or three that do not care about a polite end.
const tree = 'sleep 60 & sleep 60 & wait';
const stubborn = `trap '' TERM; ${tree}`;

row('T4 aborting a call ends its tree, and the server goes on', async (start) => {
  const s = await start();
  for (const script of [tree, stubborn]) {
    const abort = new AbortController();
    const call = assert.rejects(s.process('sh', ['-c', script], {}, { signal: abort.signal }), /not wanted any more/);
    await s.running(3);
    abort.abort(new Error('not wanted any more'));
    const began = performance.now();
    await call;
    assert.ok(performance.now() - began < 1000, 'the client waited');
    await s.ended();
    assert.equal((await s.command('echo still here')).ran().stdout, 'still here\n');
  }
});

row('T4 a call that the client gives up for its own time limit ends too', async (start, client) => {
  const s = await start();
  const call = assert.rejects(s.process('sh', ['-c', tree], {}, { timeout: 1500 }), { code: client.requestTimeout });
  await s.running(3);
  await call;
  await s.ended();
  (await s.command('echo still here')).ran();
});

row('T4 aborting a call of a session leaves the session and what waits in it', async (start) => {
  const s = await start({ files: { 'tree.sh': tree } });
  const id = await s.session();
  const [first, second] = [new AbortController(), new AbortController()];
  const running = assert.rejects(s.inSession(id, 'sh', ['tree.sh'], {}, { signal: first.signal }));
  await s.running(3);
  const given = assert.rejects(s.inSession(id, 'sleep', ['60'], {}, { signal: second.signal }));
  const last = s.inSession(id, 'echo', ['last']);
  assert.equal((await s.status(id)).state, 'running'); // what was sent before has come by now, over HTTP too
  second.abort();
  await given;
  assert.equal((await s.status(id)).state, 'running', 'giving up one that waits ends none that runs');
  assert.equal(s.commands().length, 3);
  first.abort();
  await running;
  assert.equal((await last).json().stdout, 'last\n');
  assert.equal((await s.status(id)).commandCount, 2);
  await s.ended();
});

row('T4 closing the client ends every command and the server', async (start) => {
  const s = await start({ files: { 'tree.sh': tree } });
  const id = await s.session();
  const calls = [s.process('sh', ['-c', tree]), s.process('sh', ['-c', stubborn]), s.inSession(id, 'sh', ['tree.sh'])];
  const rejected = Promise.all(calls.map((call) => assert.rejects(call, /closed/i)));
  await s.running(9);
  const began = performance.now();
  const closed = s.close(); // checks that the server left without a signal
  await until('processes outlive the client', () => marked(s.place.mark).length === 0, 2000);
  assert.ok(performance.now() - began < 2000);
  await closed;
  await rejected;
  const records = s.records();
  assert.deepEqual(records.filter((r) => r.event === 'command.end').map((r) => r.result.cause), ['cancelled', 'cancelled', 'cancelled']);
  assert.ok(records.some((r) => r.event === 'session.close' && r.who.session === id), 'the end of the session is not on the record');
  assert.equal(records.at(-1).event, 'server.stop');
});
