// npm test: the official conformance suite judges two servers over HTTP, in each
// revision that it has requirements for. One is the program as it is built, with
// a list of the checks that it cannot pass and why (expected.yml). The other has
// the tools, resources and prompts of the suite behind the same front
// (fixtures/), and passes everything. Then the Inspector calls the program.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

import { authorize } from './authorize.mjs';
import { inspect } from './inspector.mjs';
import { build, dir, run, serve } from './servers.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const suite = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'));
const revisions = ['2025-11-25', '2026-07-28'];

// What the suite runs without scoring, as the extension for tasks, is judged here all
// the same, but for these: the suite itself skips the notifications of tasks, and the
// program alone does not have the tools that the others call.
const unscored = {
  fixtures: (scenario) => scenario === 'tasks-status-notifications',
  tipstaff: (scenario) => scenario.startsWith('tasks-') || ['json-schema-2020-12', 'server-sse-polling', 'http-custom-header-server-validation'].includes(scenario),
};

// What the suite says when something that it looks for is not there.
const absent = new RegExp([
  'unknown tool "test_', 'method not found: "(prompts|resources|completion)/', "does not list the diagnostic tool 'test_",
  'could not get initial InputRequiredResult', 'Expected InputRequiredResult with', 'error instead of re-requesting',
  String.raw`Expected error code -32602 \(Invalid Params\), got -32601`, 'Failed: Resource not found',
].join('|'));

// judge has the suite judge a server in one revision. It gives what is wrong.
async function judge(name, address, revision, list) {
  const out = join(dir, `${name}-${revision}`);
  const { code, stdout, stderr } = await run(process.execPath, [
    join(suite, 'dist/index.js'), 'server', '--url', `http://${address}/mcp`,
    '--requirements', revision, '--expected-failures', list, '--output-dir', out,
  ]);
  const wrong = [];
  if (code !== 0) wrong.push(`the suite ended with ${code}:\n${stdout.slice(stdout.indexOf('=== SUMMARY'))}\n${stderr}`);
  const expected = new Set(parse(readFileSync(list, 'utf8')).server);
  const required = parse(readFileSync(join(suite, 'requirements', `${revision}.yaml`), 'utf8')).server;
  const tally = { scenarios: 0, checks: 0, passed: 0, expected: 0 };
  const met = new Set();
  for (const [scenario, checks] of results(out)) {
    const scored = required.includes(scenario);
    const faults = checks.filter((c) => !['SUCCESS', 'INFO'].includes(c.status));
    if (!scored) {
      if (!unscored[name](scenario)) wrong.push(...faults.map((c) => `${said(scenario, c)} (not scored)`));
      continue;
    }
    tally.scenarios++;
    tally.checks += checks.length;
    tally.passed += checks.filter((c) => c.status === 'SUCCESS').length;
    for (const c of faults) {
      const id = `${scenario}:${c.id}`;
      met.add(id);
      if (expected.has(id) && absent.test(c.errorMessage)) tally.expected++;
      else if (c.status !== 'SKIPPED' || expected.size === 0) wrong.push(said(scenario, c));
    }
  }
  if (tally.scenarios !== required.length) wrong.push(`${required.length} scenarios are required, and ${tally.scenarios} ran`);
  console.log(`${name}, ${revision}: ${tally.scenarios} scenarios, ${tally.checks} checks: ${tally.passed} passed, ${tally.expected} fail as expected`);
  return { wrong: wrong.map((w) => `${name}, ${revision}: ${w}`), met };
}

const said = (scenario, c) => `${scenario}: ${c.id}: ${c.status}: ${c.errorMessage ?? c.description}`;

// results reads what the suite has written: the checks of each scenario.
function* results(out) {
  for (const entry of readdirSync(out)) {
    yield [/^server-(.*)-\d{4}-\d\d-\d\dT[\dZ-]+$/.exec(entry)[1], JSON.parse(readFileSync(join(out, entry, 'checks.json'), 'utf8'))];
  }
}

async function judgeAll(name, program, args, list) {
  const server = await serve(program, args);
  const door = await authorize(server.address, server.token);
  const wrong = [];
  const met = new Set();
  for (const revision of revisions) {
    const verdict = await judge(name, door.address, revision, join(here, list));
    wrong.push(...verdict.wrong);
    for (const id of verdict.met) met.add(id);
  }
  await door.close();
  await server.close();
  // The suite finds entries that pass. These do not even run.
  for (const id of parse(readFileSync(join(here, list), 'utf8')).server) {
    if (!met.has(id)) wrong.push(`${name}: ${list} expects ${id}, which fails in no revision`);
  }
  return wrong;
}

const tipstaff = build('tipstaff', './cmd/tipstaff');
const wrong = [
  ...await judgeAll('fixtures', build('fixtures', './e2e/conformance/fixtures'), [], 'none.yml'),
  ...await judgeAll('tipstaff', tipstaff, ['serve', '--http', '127.0.0.1:0'], 'expected.yml'),
  ...await inspect(tipstaff),
];
for (const w of wrong) console.error(`\nFAILED: ${w}`);
process.exitCode = wrong.length ? 1 : 0;
