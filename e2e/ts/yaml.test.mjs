// A8: the answers of the execute family, read back by another YAML library
// than the one that wrote them.

import assert from 'node:assert/strict';

import { row } from './server.mjs';

const every = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)).join('');

const awkward = {
  'nothing': '',
  'line ends': '\n',
  'only line ends': '\n\n\n',
  'no line end': 'x',
  'two line ends': 'a\n\n',
  'leading blanks': '  a\n b\n\tc\n',
  'trailing blanks': 'trailing \nand \t\n \n   \n',
  'carriage returns': 'a\r\nb\rc\r\n',
  'every control character': every(0x00, 0x1f) + every(0x7f, 0x9f),
  'colours of a terminal': '\x1b[31mred\x1b[0m\n',
  'documents': '---\na: 1\n...\n--- x\n%YAML 1.1\n',
  'an answer inside an answer': 'exit_code: 0\nstdout: ""\n',
  'booleans and null': 'yes',
  'no': 'no', 'true': 'true', 'null': 'null', 'tilde': '~',
  'an octal number': '0123', 'a hexadecimal number': '0x1F', 'an exponent': '1e3', 'a float': '.5', 'infinity': '.inf', 'a number with underscores': '1_000',
  'sexagesimals': '1:30', 'a date': '2024-01-01', 'a version': '1.10', 'a merge key': '<<', 'an equals sign': '=',
  'a comment': '# no comment\na #b\n',
  'lists': '- a\n- b\n', 'flow': '{a: b}, [c]\n', 'anchors and tags': '*a &a !!python/object:x\n', 'block signs': '| x\n> y\n', 'a question': '? a\n: b\n',
  'quotes': '\'"\\\n', 'colons': ': :\n', 'at and backquote': '@a `b`\n', 'percent': '%TAG ! x\n',
  'line separators': 'a\u0085b\u2028c\u2029d\n',
  'a byte order mark': '\ufeffbom\n\ufeff',
  'text that turns around': '\u202ebidi\u2066 \u200b\u00ad\n',
  'emoji': '👩‍💻 😀 🏳️‍🌈\n', 'far planes': '\u{1f600}\u{20000}\u{10ffff}\ue000\n', 'noncharacters': '\ufffe\uffff\u{1fffe}\n', 'replacement': '\ufffd\n',
  'combined': 'e\u0301 日本語\n',
  'a long line': `${'long '.repeat(2000)}\n`, 'a long line without an end': 'word '.repeat(2000), 'a long word': 'x'.repeat(100_000),
  'many lines': Array.from({ length: 5000 }, (_, i) => `${' '.repeat(i % 7)}${i}: x${' '.repeat(i % 3)}\n`).join(''),
};

row('A8 any text is read back exactly, from both outputs', async (start) => {
  const s = await start();
  for (const [name, text] of Object.entries(awkward)) {
    assert.equal((await s.process('cat', [], { input: text, raw: true })).ran().stdout, text, name);
    assert.equal((await s.process('sh', ['-c', 'cat >&2'], { input: text, raw: true })).ran().stderr, text, name);
  }
});

row('A8 texts that are made of all of these are read back exactly', async (start) => {
  const s = await start();
  const parts = [...Object.values(awkward).filter((text) => text.length < 100), ' ', '  ', '\n', '\n ', '\n\n', '\t', ':', '#', '-', '"', 'x'];
  let seed = 1; // the same texts every time
  const below = (n) => { seed = (seed * 48271) % 2147483647; return seed % n; };
  for (let i = 0; i < 100; i++) {
    const text = Array.from({ length: 1 + below(8) }, () => parts[below(parts.length)]).join('');
    assert.equal((await s.process('cat', [], { input: text, raw: true })).ran().stdout, text, JSON.stringify(text));
  }
});

row('A8 long lines are not folded', async (start) => {
  const s = await start();
  for (const input of ['word '.repeat(2000), `${'word '.repeat(2000)}x\n`, '\x1b '.repeat(2000)]) {
    const r = await s.process('cat', [], { input, raw: true });
    assert.equal(r.ran().stdout, input);
    const longest = Math.max(...r.text.split('\n').map((line) => line.length));
    assert.ok(longest >= input.trimEnd().length, `the longest line has ${longest} characters`);
  }
});

row('A8 no control character stands in the answer itself', async (start) => {
  const s = await start();
  const r = await s.process('cat', [], { input: awkward['every control character'], raw: true });
  assert.match(r.text, /^[\n\x20-\x7e\xa0-\u{10ffff}]*$/u);
});

row('A8 bytes that are no UTF-8 become U+FFFD', async (start) => {
  const s = await start();
  assert.equal((await s.process('printf', ['ok\\377\\376ok'])).ran().stdout, 'ok\ufffd\ufffdok');
  assert.equal((await s.process('printf', ['a\\342\\202'])).ran().stdout, 'a\ufffd\ufffd');
});

row('A8 cleaned text is read back exactly, and stands in a block', async (start) => {
  const s = await start();
  for (const [name, input] of Object.entries(awkward)) {
    const r = await s.process('cat', [], { input: `x\n${input}\ny\n` });
    const { stdout } = r.ran();
    assert.ok(stdout.startsWith('x\n') && stdout.endsWith('y\n'), name);
    assert.match(r.text, /^stdout: \|$/m, name);
  }
});

row('A8 what there is to say beyond the output stands before it', async (start) => {
  const s = await start({ env: { TERMINAL_MAX_OUTPUT_SIZE: '10000' } });
  const body = (await s.process('cat', [], { input: 'x\n'.repeat(50_000), raw: true })).ran();
  assert.deepEqual(Object.keys(body), ['exit_code', 'truncated', 'command_id', 'stdout', 'stderr']);
  assert.equal(body.truncated, true);
  assert.match(body.stdout, /^(x\n)+\[… .* omitted; read_output .* reads them\]\n(x\n)+$/);
  assert.deepEqual(Object.keys((await s.process('node', ['kill.cjs', 'SIGKILL'])).yaml()), ['exit_code', 'signal', 'hint', 'stdout', 'stderr']);
});
