// The official clients, behind one face. A client here is what an agent's host
// would use: its own transport, its own negotiation, its own check of answers.

import assert from 'node:assert/strict';

import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { AjvJsonSchemaValidator as Validator1 } from '@modelcontextprotocol/sdk/validation/ajv';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { AjvJsonSchemaValidator as Validator2 } from '@modelcontextprotocol/client/validators/ajv';

const self = { name: 'e2e', version: '1' };

// way makes a transport: to a server that it starts with the given parameters, or
// to one that listens already ({ url, token, fetch }).
const way = (Stdio, Http) => (to) => {
  if (!to.url) return new Stdio(to);
  const requestInit = { headers: { Authorization: `Bearer ${to.token}` } };
  return new Http(new URL(to.url), { requestInit, fetch: to.fetch });
};
const way1 = way(Stdio1, Http1);
const way2 = way(Stdio2, Http2);

// Each has the version that it must come to with this server.
export const one = {
  name: 'client 1.x',
  version: '2025-11-25',
  requestTimeout: -32001,
  make(to, options) {
    const validator = new Watched(new Validator1());
    const client = new Client1(self, { ...options, jsonSchemaValidator: validator });
    const call = (params, o) => client.callTool(params, undefined, o);
    return new Connection(client, way1(to), validator, call);
  },
  // answers lets a function answer the forms that the client shows.
  answers: (client, person) => client.setRequestHandler(ElicitRequestSchema, (request) => person(request.params)),
};

export const two = {
  name: 'client 2.x',
  version: '2025-11-25',
  requestTimeout: 'REQUEST_TIMEOUT',
  make(to, options) {
    const validator = new Watched(new Validator2());
    const client = new Client2(self, { ...options, jsonSchemaValidator: validator });
    const call = (params, o) => client.callTool(params, o);
    return new Connection(client, way2(to), validator, call);
  },
  answers: (client, person) => client.setRequestHandler('elicitation/create', (request) => person(request.params)),
};

// The same library in the protocol without initialize.
export const stateless = {
  ...two,
  name: 'client 2.x, stateless',
  version: '2026-07-28',
  make: (to, options) => two.make(to, { versionNegotiation: { mode: 'auto' }, ...options }),
};

export const clients = [one, two, stateless];

// The transports that every test goes over, if it does not say otherwise.
export const transports = ['stdio', 'HTTP'];

// Connection is a client together with what it noticed on the way.
class Connection {
  negotiated; // the protocol's version
  faults = []; // what the client could not make sense of: stray lines, answers that nobody asked for

  constructor(client, transport, validator, call) {
    this.client = client;
    this.transport = transport;
    this.validator = validator;
    this.call = call;
    client.onerror = (err) => this.faults.push(err);
    // Both libraries tell the transport what they came to, if it wants to know.
    const told = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => {
      this.negotiated = version;
      told?.(version);
    };
  }

  // expect takes faults out of the list that the test has provoked: as many as there are
  // of each kind, and at least one. What is left counts at the end.
  expect(...kinds) {
    for (const kind of kinds) {
      const left = this.faults.filter((err) => !kind.test(err.message));
      assert.notEqual(left.length, this.faults.length, `the client has noticed nothing like ${kind}, but ${this.faults.map((err) => err.message).join('; ') || 'nothing'}`);
      this.faults = left;
    }
  }

  connect(options) { return this.client.connect(this.transport, options); }
}

// Watched is the client's own validator of structured answers. It notes what
// the client had validated, so that a test can tell that this happened.
class Watched {
  passed = new Set();

  constructor(validator) { this.validator = validator; }

  getValidator(schema) {
    const check = this.validator.getValidator(schema);
    return (value) => {
      const verdict = check(value);
      if (verdict.valid) this.passed.add(value);
      return verdict;
    };
  }
}
