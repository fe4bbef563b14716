// npm run screenshots: takes the pictures of docs/console.md. They are small, and
// show a server that has something to do.

import { mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { build } from '../ts/build.mjs';

process.env.TIPSTAFF_BIN ||= build();
const { alive } = await import('./console.mjs');
const { leave } = await import('./browser.mjs');
const { extensions, Host } = await import('./host.mjs');
const { Server } = await import('./server.mjs');

const most = 120_000; // bytes of a picture
const into = process.argv[2] ?? fileURLToPath(new URL('../../docs/console/', import.meta.url));
mkdirSync(into, { recursive: true });

const life = await alive({ client: 'claude-code', word: 'review of PR 7: 3 files', long: 'all tests passed' });
const visit = await life.console.enter({ viewport: { width: 1120, height: 660 } });
const { page } = visit;
let tooLarge = 0;

async function take(name, of = page) {
  const path = `${into}/${name}.png`;
  await of.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  if (size > most) tooLarge++;
  console.log(`${name}.png: ${size} bytes${size > most ? `, of at most ${most}` : ''}`);
}

// More of a day: what succeeds, fails and is refused. The session of the question
// waits for its answer.
const sessions = [await life.server.session('builder', 'issue-22'), await life.server.session('reviewer', 'PR-7')];
for (let i = 0; i < 30; i++) {
  await life.server.call('terminal_execute_command', { sessionId: sessions[i % 3 ? 0 : 1], command: ['echo', 'true', 'seq', 'cat', 'false'][i % 5], args: [['tests', 'passed'], [], ['1', '9'], ['build.sh'], []][i % 5] });
}

await visit.go('/now');
await page.locator('.last-line', { hasText: 'tick' }).first().waitFor().catch(() => {}); // it may have folded them
await take('now');
await visit.go(`/commands/${life.running[0]}`);
await page.locator('#output').getByText('tick').waitFor();
await take('command');
await page.locator('nav').waitFor();
for (const href of await page.$$eval('nav a', (all) => all.map((a) => a.getAttribute('href')))) {
  if (href === '/now') continue;
  await visit.go(href);
  if (href === '/health') await page.getByText('Examined at').waitFor({ timeout: 60_000 });
  await take(href.slice(1));
}
await visit.go('/now');
await page.emulateMedia({ colorScheme: 'dark' });
await page.setViewportSize({ width: 390, height: 720 });
await take('now-narrow');

// The page in a client's own window.
const server = await new Server(life.at).begin('client', { extensions });
const args = { file: 'sh', args: ['build.sh'], background: true };
const host = await new Host(server).open('execute_process', args, { theme: 'light' }, { viewport: { width: 760, height: 520 } });
await host.answered(await server.call('execute_process', args));
await host.frame.locator('#output').getByText('tick').waitFor();
await take('window', host.page.locator('#view'));

await host.close();
await server.end();
await visit.context.close();
await leave();
await life.end();
process.exitCode = tooLarge ? 1 : 0;
