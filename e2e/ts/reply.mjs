// The answer of a tool, and what a test can say about it.

import assert from 'node:assert/strict';
import { parseDocument } from 'yaml';

export class Reply {
  constructor(result, tool, validator) {
    assert.equal(result.content.length, 1, 'an answer has one content');
    assert.equal(result.content[0].type, 'text');
    this.text = result.content[0].text;
    this.isError = result.isError === true;
    this.structured = result.structuredContent;
    this.tool = tool;
    this.validator = validator;
  }

  // yaml reads the answer of the execute family as YAML 1.2 (contract A8).
  yaml() {
    const doc = parseDocument(this.text, { version: '1.2', strict: true });
    assert.deepEqual([...doc.errors, ...doc.warnings], [], this.text);
    const body = doc.toJS();
    assert.equal(Object.keys(body)[0], 'exit_code', this.text);
    assert.deepEqual(Object.keys(body).slice(-2), ['stdout', 'stderr'], this.text);
    assert.equal(typeof body.exit_code, 'number');
    assert.equal(typeof body.stdout, 'string');
    assert.equal(typeof body.stderr, 'string');
    return body;
  }

  // ran is the answer of a command that ran and ended well.
  ran() {
    assert.equal(this.isError, false, this.text);
    const body = this.yaml();
    assert.equal(body.exit_code, 0, this.text);
    return body;
  }

  // refused checks that nothing ran and that the text says why.
  refused(...says) {
    assert.equal(this.isError, true, this.text);
    this.#says(says);
  }

  // json reads the answer of the terminal family: the same as text and as
  // structure, validated by the client.
  json() {
    const body = JSON.parse(this.text);
    assert.deepEqual(this.structured, body, 'the structured content differs from the text');
    if (this.isError) { // of errors, clients need not look at the structure
      const verdict = this.validator.getValidator(this.tool.outputSchema)(this.structured);
      assert.ok(verdict.valid, verdict.errorMessage);
    }
    assert.ok(this.validator.passed.has(this.structured), 'the client did not validate the answer');
    return body;
  }

  // code reads an error of the terminal family (contract B13).
  code(code, ...says) {
    assert.equal(this.isError, true, this.text);
    const body = this.json();
    assert.equal(body.success, false);
    assert.equal(body.error, code, this.text);
    assert.ok(body.message, 'an error has a message');
    this.#says(says);
    return body;
  }

  #says(says) {
    for (const words of says) assert.ok(this.text.includes(words), `it does not say ${JSON.stringify(words)}: ${this.text}`);
  }
}
