// make budgets: what a look at a busy host costs, measured by hand, for
// BENCHMARKS.md: 200 sessions of four servers with 50 commands that print. The first
// paint of Now stands beside that of an empty page of a server that does nothing, in
// the same browser, one after the other: the difference is the console's.

import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { loadavg } from 'node:os';

import { build } from '../ts/build.mjs';

process.env.TIPSTAFF_BIN ||= build();
const { leave, visitor } = await import('./browser.mjs');
const { Console } = await import('./console.mjs');
const { place, Server } = await import('./server.mjs');

const servers = 4;
const sessions = 50; // of each
const commands = 50; // of all
const rounds = Number(process.argv[2] ?? 30);
const watched = 20_000; // ms, for the processor

const at = place();
const all = [];
for (let s = 0; s < servers; s++) all.push(await new Server(at, { TERMINAL_MAX_SESSIONS: '64' }).begin(`client-${s}`));
at.file('tick.sh', 'i=0; while :; do i=$((i+1)); echo "tick $i of a command that prints a line now and then"; sleep 1; done\n');
let running = 0;
await Promise.all(all.map(async (server, s) => {
  for (let i = 0; i < sessions; i++) {
    const id = await server.session(`agent-${i % 5}-${s}`, `task-${i}`);
    if (running < commands && i % servers === s % servers) {
      running++;
      await server.call('terminal_execute_command', { sessionId: id, command: 'sh', args: ['tick.sh'], background: true });
    }
  }
  while (running < commands) {
    running++;
    await server.runs('exec sh tick.sh');
  }
}));

const empty = createServer((_, res) => res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end('<!doctype html><title>empty</title><p>.'));
await new Promise((resolve) => empty.listen(0, '127.0.0.1', resolve));
const console_ = new Console(at);
const visit = await console_.enter();
const cookie = (await visit.context.cookies(visit.origin)).map((c) => `${c.name}=${c.value}`).join('; ');
const floor = `http://floor.localhost:${empty.address().port}/`;

// firstByte asks as no browser would: the server's own part.
const firstByte = () => new Promise((resolve, reject) => {
  const url = new URL(visit.origin);
  const began = performance.now();
  request({ hostname: '127.0.0.1', port: url.port, path: '/now', headers: { Host: url.host, Cookie: cookie, Accept: 'text/html' } }, (res) => {
    const first = performance.now() - began;
    let bytes = 0;
    res.on('data', (b) => { bytes += b.length; }).on('end', () => resolve({ first, bytes, status: res.statusCode }));
  }).on('error', reject).end();
});

const other = await visitor();

// paint loads a page and gives, in ms from the start of the navigation: the first
// byte, the first paint, and the end of the document.
async function paint(page, address) {
  await page.goto(address, { waitUntil: 'load' });
  return page.evaluate(() => new Promise((resolve) => {
    const found = () => {
      const [nav] = performance.getEntriesByType('navigation');
      const first = performance.getEntriesByName('first-contentful-paint')[0];
      if (!first) return void setTimeout(found, 5);
      const sheet = performance.getEntriesByType('resource').filter((r) => r.name.includes('.css'));
      resolve({ byte: nav.responseStart, paint: first.startTime, end: nav.domContentLoadedEventEnd, bytes: nav.encodedBodySize, sheet: Math.max(0, ...sheet.map((r) => r.responseEnd)), asked: Math.max(0, ...sheet.map((r) => r.requestStart)) });
    };
    found();
  }));
}

// worked is the processor time of the page's main thread so far, in ms: what stays of
// a page's cost where the machine has more to do than this.
async function worker(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.filter((m) => m.name.endsWith('Duration')).map((m) => [m.name, 1000 * m.value]));
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const shown = (list) => `${median(list).toFixed(1)} (${Math.min(...list).toFixed(1)}–${Math.max(...list).toFixed(1)})`;
const processor = () => {
  const f = readFileSync(`/proc/${console_.process.pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return (Number(f[11]) + Number(f[12])) * 10; // ms
};
const memory = (field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${console_.process.pid}/status`, 'utf8'))[1]) / 1000;

const load = () => loadavg()[0].toFixed(1);
const before = load();
const ours = [];
const floors = [];
const alone = [];
await firstByte();
await other.page.goto(floor);
await visit.page.goto(`${visit.origin}/nowhere`);
const worked = [await worker(other.page), await worker(visit.page)];

async function timed(page, address, worked) {
  const since = await worked();
  const seen = await paint(page, address);
  const until = await worked();
  return { ...seen, work: until.TaskDuration - since.TaskDuration, layout: until.LayoutDuration - since.LayoutDuration, style: until.RecalcStyleDuration - since.RecalcStyleDuration, script: until.ScriptDuration - since.ScriptDuration };
}

for (let i = 0; i < rounds; i++) {
  floors.push(await timed(other.page, floor, worked[0]));
  const before = processor();
  ours.push({ ...await timed(visit.page, `${visit.origin}/now`, worked[1]), console: processor() - before });
  await visit.page.goto(`${visit.origin}/nowhere`); // no page looks now: the next one begins anew
  alone.push(await firstByte());
}
const of = (list, name) => list.map((r) => r[name]);
console.log(`load ${before} before, ${load()} after; ${rounds} rounds; Now has ${alone[0].bytes} bytes, ${ours[0].bytes} on the way; status ${alone[0].status}`);
console.log(`the server's first byte, no browser: ${shown(of(alone, 'first'))} ms`);
console.log(`empty page: first byte ${shown(of(floors, 'byte'))}, first paint ${shown(of(floors, 'paint'))} ms`);
console.log(`Now:        first byte ${shown(of(ours, 'byte'))}, first paint ${shown(of(ours, 'paint'))}, parsed ${shown(of(ours, 'end'))} ms`);
console.log(`processor time of the page's main thread: empty ${shown(of(floors, 'work'))}, Now ${shown(of(ours, 'work'))} ms (style ${shown(of(ours, 'style'))}, layout ${shown(of(ours, 'layout'))}, scripts ${shown(of(ours, 'script'))}); of the console: ${(ours.reduce((n, o) => n + o.console, 0) / rounds).toFixed(1)} ms`);
console.log(`the sheet of Now is asked for at ${shown(of(ours, 'asked'))} and there at ${shown(of(ours, 'sheet'))} ms`);
console.log(`Now − empty page, round by round: ${shown(ours.map((o, i) => o.paint - floors[i].paint))} ms`);

await visit.page.goto(`${visit.origin}/now`);
const used = processor();
const since = performance.now();
await new Promise((resolve) => setTimeout(resolve, watched));
console.log(`processor of the console while one page looks: ${(100 * (processor() - used) / (performance.now() - since)).toFixed(2)} % of a core`);
console.log(`memory of the console: ${memory('VmRSS').toFixed(1)} MB (of it ${memory('RssFile').toFixed(1)} MB of the program's file), at most ${memory('VmHWM').toFixed(1)} MB; load ${load()}`);

await visit.context.close();
await other.context.close();
await leave();
await console_.end();
empty.close();
empty.closeAllConnections();
await Promise.all(all.map((s) => s.end()));
at.remove();
