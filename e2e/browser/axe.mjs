// axe-core, in the page and its frames.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// ofColours are the rules that a scheme of colours can make a difference to.
export const ofColours = ['color-contrast', 'link-in-text-block'];

// axe lists what it finds by all of its rules, or by those that are named, a line for
// each. It is put into each frame past the page's Content-Security-Policy, by the
// browser's own debugger.
export async function axe(page, rules) {
  const found = [];
  for (const frame of page.frames()) {
    if (!await frame.evaluate(() => 'axe' in window)) await frame.evaluate(source);
    const violations = await frame.evaluate(async (rules) => (await window.axe.run(document, { iframes: false, resultTypes: ['violations'], ...rules && { runOnly: rules } })).violations
      .map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target.join(' ')} ${n.any.concat(n.all, n.none).map((c) => c.message).join('; ')}`).slice(0, 5).join(' | ')}`), rules);
    found.push(...violations.map((v) => `${frame === page.mainFrame() ? '' : 'frame: '}${v}`));
  }
  return found;
}
