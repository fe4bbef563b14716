// T1: what a model can mend is an answer, what the client got wrong is a
// failure of the request.

import assert from 'node:assert/strict';

import { stateless } from './clients.mjs';
import { row } from './server.mjs';

row('T1 an unknown argument is an error of the tool', async (start) => {
  const s = await start();
  (await s.command('echo x', { shell: true })).refused('"shell"', 'not known');
  (await s.command('echo x', { timeoutMs: 5 })).refused('"timeoutMs"', 'Did you mean "timeout_ms"?');
  const body = (await s.call('terminal_create_session', { taskId: 't', agentId: 'a', cwd: '/' })).code('INVALID_PARAMETERS', '"cwd"');
  assert.equal(body.details.parameter, 'cwd');
});

row('T1 wrong types and missing arguments are errors of the tool', async (start) => {
  const s = await start();
  (await s.call('execute_command', {})).refused('"command" is missing');
  (await s.call('execute_command', undefined)).refused('"command" is missing');
  (await s.call('execute_command', { command: ['echo'] })).refused('"command" must be a string');
  (await s.process('echo', 'x')).refused('"args" must be a list of strings');
  (await s.process('echo', [1])).refused('"args" must be a list of strings');
  (await s.process('cat', [], { input: { a: 1 } })).refused('"input" must be a string');
  (await s.command('echo x', { cwd: null, timeout_ms: null, input: null })).ran(); // as if they were absent
});

row('T1 an unknown tool is an error of the protocol', async (start, client, transport) => {
  const s = await start();
  await assert.rejects(s.call('no_such_tool', {}), { code: -32602, message: /no_such_tool/ });
  // The name is in a header as well, where the client encodes one that is empty and
  // the library does not decode it. It is refused all the same.
  const empty = client === stateless && transport === 'HTTP' ? -32020 : -32602;
  await assert.rejects(s.call('', {}), { code: empty });
  (await s.command('echo still here')).ran();
});
