// Looks for processes by a mark in their environment, which everything that a
// command starts inherits.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

// marked lists the living processes with the mark. A zombie has no environment
// any more and does not count.
export function marked(mark) {
  const found = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const environment = readFileSync(`/proc/${entry}/environ`, 'latin1');
      if (!`\0${environment}`.includes(`\0${mark}\0`)) continue;
      const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      found.push({ pid: Number(entry), command });
    } catch {
      // It ended while we looked, or belongs to somebody else.
    }
  }
  return found;
}

// until waits for a condition, at most for the milliseconds given, and gives
// what it came to. what says in the error what did not happen.
export async function until(what, condition, within = 10_000) {
  const limit = performance.now() + within;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > limit) throw new Error(`within ${within} ms: ${typeof what === 'function' ? what() : what}`);
    await pause(5);
  }
}
