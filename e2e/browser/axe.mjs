// axe-core, in the page and its frames.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// axe lists what it finds, a line for each. It is put into each frame past the
// page's Content-Security-Policy, by the browser's own debugger.
export async function axe(page) {
  const found = [];
  for (const frame of page.frames()) {
    await frame.evaluate(source);
    const violations = await frame.evaluate(async () => (await window.axe.run(document, { iframes: false, resultTypes: ['violations'] })).violations
      .map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target.join(' ')} ${n.any.concat(n.all, n.none).map((c) => c.message).join('; ')}`).slice(0, 5).join(' | ')}`));
    found.push(...violations.map((v) => `${frame === page.mainFrame() ? '' : 'frame: '}${v}`));
  }
  return found;
}
