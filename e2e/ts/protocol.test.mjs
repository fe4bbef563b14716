// Which protocol a client and the server come to, in both eras.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SdkErrorCode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { stateless, two } from './clients.mjs';
import { marked, until } from './processes.mjs';
import { finallyDo, prepare, row } from './server.mjs';

const stateful = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const newest = '2026-07-28';

row('a client comes to the newest version that it knows', async (start, client) => {
  const s = await start();
  assert.equal(s.connection.negotiated, client.version);
  (await s.command('echo x')).ran();
});

row('a client that knows only an older version gets it', async (start) => {
  for (const version of stateful) {
    const s = await start({ options: { supportedProtocolVersions: [version] } });
    assert.equal(s.client.getNegotiatedProtocolVersion(), version);
    (await s.command('echo x')).ran();
  }
}, [two]);

row('a client that may choose takes the stateless protocol', async (start) => {
  for (const mode of ['auto', { pin: newest }]) {
    const s = await start({ options: { versionNegotiation: { mode } } });
    assert.equal(s.client.getNegotiatedProtocolVersion(), newest);
    assert.equal(s.client.getProtocolEra(), 'modern');
    assert.deepEqual(s.client.getDiscoverResult().supportedVersions, [newest, ...stateful]);
    assert.equal(s.commands().length, 0, 'the process that was asked first is gone');
    (await s.command('echo x')).ran();
    const id = await s.session();
    assert.equal((await s.inSession(id, 'echo', ['x'])).json().success, true);
  }
}, [stateless]);

row('a client that was told before needs no question first', async (start) => {
  const known = (await start()).client.getDiscoverResult();
  const s = await start({ prior: { kind: 'modern', discover: known } });
  assert.equal(s.client.getNegotiatedProtocolVersion(), newest);
  (await s.command('echo x')).ran();
}, [stateless]);

row('what a client may keep, it keeps for itself', async (start) => {
  const s = await start();
  assert.equal(s.client.getDiscoverResult().cacheScope, 'private');
  assert.equal((await s.client.listTools()).cacheScope, 'private');
}, [stateless]);

test('a version that does not exist is refused with those that do', { timeout: 60_000 }, async (t) => {
  const place = prepare(t);
  const c = two.make(place.parameters, { versionNegotiation: { mode: { pin: '2099-01-01' } } });
  finallyDo(t, () => c.client.close());
  await assert.rejects(c.connect(), (err) => err.code === -32022 || err.code === SdkErrorCode.EraNegotiationFailed);
  await until('processes are left', () => marked(place.mark).length === 0, 2000);
});

test('initialize gets the version that it asks for, or the newest stateful one', { timeout: 60_000 }, async (t) => {
  const asked = { ...Object.fromEntries(stateful.map((v) => [v, v])), '1999-01-01': stateful[0], '2026-07-28': stateful[0], '2099-01-01': stateful[0] };
  for (const [version, got] of Object.entries(asked)) {
    const raw = await wire(t);
    const { result } = await raw.request('initialize', { protocolVersion: version, capabilities: {}, clientInfo: { name: 'e2e', version: '1' } });
    assert.equal(result.protocolVersion, got, version);
    await raw.notify('notifications/initialized');
    assert.equal((await raw.request('tools/list', {})).result.tools.length, 9, version);
    const called = (await raw.request('tools/call', echo)).result;
    assert.match(called.content[0].text, /hello/);
    assert.deepEqual(Object.keys(called), ['content'], 'the answer is of the other era');
    assert.deepEqual((await raw.request('ping', {})).result, {}, version);
  }
});

test('a stateless request needs nothing before it', { timeout: 60_000 }, async (t) => {
  for (const [method, params, check] of [
    ['tools/call', echo, (result) => assert.match(result.content[0].text, /hello/)],
    ['tools/list', {}, (result) => assert.equal(result.tools.length, 9)],
    ['server/discover', {}, (result) => assert.deepEqual(result.supportedVersions, [newest, ...stateful])],
  ]) {
    const raw = await wire(t);
    const { result, error } = await raw.request(method, { ...params, _meta: meta(newest) });
    assert.equal(error, undefined, method);
    assert.equal(result.resultType, 'complete', method);
    check(result);
  }
});

test('a stateless request for another version is told which there are', { timeout: 60_000 }, async (t) => {
  const raw = await wire(t);
  const { error } = await raw.request('tools/call', { ...echo, _meta: meta('2099-01-01') });
  assert.equal(error.code, -32022);
  assert.deepEqual(error.data, { supported: [newest, ...stateful], requested: '2099-01-01' });
  const { result } = await raw.request('tools/call', { ...echo, _meta: meta(newest) });
  assert.match(result.content[0].text, /hello/, 'the connection is spoilt');
});

test('a request of no era is an error with a code, and the server goes on', { timeout: 60_000 }, async (t) => {
  const raw = await wire(t);
  const { error } = await raw.request('tools/call', echo);
  assert.ok(Number.isInteger(error.code) && error.code !== 0, JSON.stringify(error));
  assert.equal((await raw.request('server/discover', {})).error.code, -32601);
  assert.equal((await raw.request('no/such/method', { _meta: meta(newest) })).error.code, -32601);
  assert.equal((await raw.request('initialize', { _meta: meta(newest) })).error.code, -32601);
  assert.match((await raw.request('tools/call', { ...echo, _meta: meta(newest) })).result.content[0].text, /hello/);
});

const echo = { name: 'execute_command', arguments: { command: 'echo hello' } };

// meta is what every request of the stateless protocol says.
const meta = (version) => ({
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
});

// wire starts a server below the client's transport alone, for requests that
// no client would make.
async function wire(t) {
  const place = prepare(t);
  const transport = new StdioClientTransport(place.parameters);
  finallyDo(t, async () => {
    await transport.close();
    assert.deepEqual(marked(place.mark), [], 'the server is still there');
  });
  const answers = new Map();
  transport.onmessage = (message) => answers.set(message.id, message);
  await transport.start();
  let id = 0;
  return {
    async request(method, params) {
      await transport.send({ jsonrpc: '2.0', id: ++id, method, params });
      return until(`no answer to ${method}`, () => answers.get(id));
    },
    notify: (method) => transport.send({ jsonrpc: '2.0', method }),
  };
}
