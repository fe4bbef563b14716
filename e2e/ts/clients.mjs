// The official clients, behind one face. A client here is what an agent's host
// would use: its own transport, its own negotiation, its own check of answers.

import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { AjvJsonSchemaValidator as Validator1 } from '@modelcontextprotocol/sdk/validation/ajv';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { AjvJsonSchemaValidator as Validator2 } from '@modelcontextprotocol/client/validators/ajv';

const self = { name: 'e2e', version: '1' };

// Each has the version that it must come to with this server.
export const one = {
  name: 'client 1.x',
  version: '2025-11-25',
  requestTimeout: -32001,
  make(transport, options) {
    const validator = new Watched(new Validator1());
    const client = new Client1(self, { ...options, jsonSchemaValidator: validator });
    const call = (params, o) => client.callTool(params, undefined, o);
    return new Connection(client, new Stdio1(transport), validator, call);
  },
};

export const two = {
  name: 'client 2.x',
  version: '2025-11-25',
  requestTimeout: 'REQUEST_TIMEOUT',
  make(transport, options) {
    const validator = new Watched(new Validator2());
    const client = new Client2(self, { ...options, jsonSchemaValidator: validator });
    const call = (params, o) => client.callTool(params, o);
    return new Connection(client, new Stdio2(transport), validator, call);
  },
};

// The same library in the protocol without initialize.
export const stateless = {
  ...two,
  name: 'client 2.x, stateless',
  version: '2026-07-28',
  make: (transport, options) => two.make(transport, { versionNegotiation: { mode: 'auto' }, ...options }),
};

export const clients = [one, two, stateless];

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
    transport.setProtocolVersion = (version) => { this.negotiated = version; };
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
